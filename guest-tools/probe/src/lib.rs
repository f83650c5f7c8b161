//! What a hostile tool would try, one attempt a function. The host's tests use it everywhere.

mod network;
mod paths;

wit_bindgen::generate!({ world: "probe-tool", path: "wit" });

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read, Write};
use std::time::Duration;

use exports::witbox::probe::probe::{Guest, Outcome, Request, Survey, Way};

struct Probe;

export!(Probe);

const CHUNK: usize = 64 << 10;

impl Guest for Probe {
    fn touch(way: Way, path: String, other: Option<String>) -> Outcome {
        paths::touch(way, &path, other.as_deref())
    }

    fn survey_folder(path: String, most: u64, sample: u32) -> Result<Survey, String> {
        paths::survey(&path, most, sample)
    }

    fn reopen(path: String, times: u32) -> Outcome {
        paths::reopen(&path, times)
    }

    fn hold(path: String, times: u32) -> u32 {
        paths::hold(&path, times)
    }

    fn hold_mounts(times: u32) -> u32 {
        paths::hold_mounts(times)
    }

    fn change_opened(path: String) -> Vec<String> {
        paths::change_opened(&path)
    }

    fn read_whole(path: String) -> Outcome {
        let read = File::open(&path).and_then(|mut file| {
            let (mut buffer, mut total) = (vec![0; CHUNK], 0);
            loop {
                match file.read(&mut buffer)? {
                    0 => return Ok(format!("{total} bytes")),
                    read => total += read,
                }
            }
        });
        outcome(read)
    }

    fn open(path: String) -> Outcome {
        let read = File::open(&path).and_then(|file| {
            let mut bytes = Vec::new();
            file.take(64).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        });
        outcome(read)
    }

    fn create(path: String, bytes: u64) -> Outcome {
        let written = File::create(&path).and_then(|mut file| {
            let chunk = vec![b'x'; CHUNK];
            let mut left = bytes;
            while left > 0 {
                let size = left.min(CHUNK as u64) as usize;
                file.write_all(&chunk[..size])?;
                left -= size as u64;
            }
            Ok(format!("{bytes} bytes"))
        });
        outcome(written)
    }

    fn list_folder(path: String) -> Outcome {
        let listed = fs::read_dir(&path).map(|entries| {
            let mut names: Vec<_> =
                entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names.join("\n")
        });
        outcome(listed)
    }

    fn environment() -> Outcome {
        let variables: Vec<String> = std::env::vars().map(|(name, value)| format!("{name}={value}")).collect();
        some_or_refused(variables, "there are no environment variables")
    }

    fn arguments() -> Outcome {
        some_or_refused(std::env::args().collect(), "there are no arguments")
    }

    fn stdin() -> Outcome {
        let mut text = String::new();
        match std::io::stdin().read_to_string(&mut text) {
            Ok(0) => Outcome::Refused("standard input is empty".to_owned()),
            read => outcome(read.map(|_| text)),
        }
    }

    fn connect(address: String) -> Outcome {
        network::connect(&address)
    }

    fn resolve(name: String) -> Outcome {
        network::resolve(&name)
    }

    fn fetch(url: String) -> Outcome {
        network::fetch(&url)
    }

    fn send(request: Request) -> Outcome {
        network::send(&request)
    }

    fn spin() {
        let mut count = 0u64;
        loop {
            count = black_box(count.wrapping_add(1));
        }
    }

    fn allocate(bytes: u64) -> u64 {
        let mut held: Vec<Vec<u8>> = Vec::new();
        let mut got = 0;
        while got < bytes {
            let mut chunk = Vec::new();
            if chunk.try_reserve_exact(CHUNK).is_err() {
                break;
            }
            chunk.resize(CHUNK, 1);
            held.push(chunk);
            got += CHUNK as u64;
        }
        black_box(&held);
        got
    }

    fn allocate_all() {
        let mut held: Vec<Vec<u8>> = Vec::new();
        loop {
            held.push(black_box(vec![1; CHUNK]));
        }
    }

    fn recurse(depth: u64) -> u64 {
        if depth == 0 {
            return 0;
        }
        // Small frames: the host's stack ends before the guest's own in its memory.
        black_box(Self::recurse(depth - 1)) + 1
    }

    fn flood_stdout(bytes: u64) -> u64 {
        flood(&mut std::io::stdout(), bytes)
    }

    fn flood_stderr(bytes: u64) -> u64 {
        flood(&mut std::io::stderr(), bytes)
    }

    fn sleep(milliseconds: u64) {
        std::thread::sleep(Duration::from_millis(milliseconds));
    }

    fn answer(bytes: u64) -> String {
        "x".repeat(bytes as usize)
    }

    fn crash(message: String) {
        panic!("{message}");
    }

    fn exit(code: u8) {
        std::process::exit(code.into());
    }

    fn fail(message: String) -> Result<String, String> {
        Err(message)
    }
}

fn outcome(tried: std::io::Result<String>) -> Outcome {
    match tried {
        Ok(text) => Outcome::Allowed(text),
        Err(error) => Outcome::Refused(error.to_string()),
    }
}

fn some_or_refused(found: Vec<String>, nothing: &str) -> Outcome {
    if found.is_empty() {
        return Outcome::Refused(nothing.to_owned());
    }
    Outcome::Allowed(found.join("\n"))
}

/// Writes until all is written or refused, and says how much went through.
fn flood(out: &mut impl Write, bytes: u64) -> u64 {
    let chunk = vec![b'x'; CHUNK];
    let mut written = 0;
    while written < bytes {
        let size = (bytes - written).min(CHUNK as u64) as usize;
        if out.write_all(&chunk[..size]).is_err() {
            break;
        }
        written += size as u64;
    }
    written
}
