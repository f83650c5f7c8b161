//! A program of the usual kind: arguments, standard input and output, files, and an exit code.

use std::env;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

/// How much is written at once.
const PIECE: usize = 64 << 10;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args[1..]) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("{}: {error}", args[0]);
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> io::Result<u8> {
    let mut out = BufWriter::with_capacity(PIECE, io::stdout());
    match args {
        ["echo", words @ ..] => writeln!(out, "{}", words.join(" "))?,
        ["cat"] => drop(io::copy(&mut io::stdin(), &mut out)?),
        ["lines", count] => {
            for number in 1..=parse(count)? {
                writeln!(out, "line {number}")?;
            }
        }
        ["bytes", count, byte] => {
            let piece = [u8::try_from(parse(byte)?).unwrap_or_default(); PIECE];
            let mut left = parse(count)?;
            while left > 0 {
                let some = left.min(PIECE as u64);
                out.write_all(&piece[..some as usize])?;
                left -= some;
            }
        }
        ["both", count] => {
            let text = "x".repeat(parse(count)? as usize);
            write!(out, "{text}")?;
            eprint!("{text}");
        }
        ["repeat", count, text] => {
            for _ in 0..parse(count)? {
                write!(out, "{text}")?;
            }
        }
        ["read", path] => drop(io::copy(&mut File::open(path)?, &mut out)?),
        ["env", name] => writeln!(out, "{}", env::var(name).map_err(io::Error::other)?)?,
        ["fail", code] => {
            write!(out, "so far so good")?;
            out.flush()?;
            eprintln!("and then not");
            return Ok(u8::try_from(parse(code)?).unwrap_or(u8::MAX));
        }
        ["panic"] => {
            writeln!(out, "before")?;
            out.flush()?;
            panic!("of its own accord");
        }
        ["spin"] => {
            writeln!(out, "before")?;
            out.flush()?;
            loop {
                std::hint::spin_loop();
            }
        }
        _ => return Err(io::Error::other("no such word")),
    }
    out.flush()?;
    Ok(0)
}

fn parse(text: &str) -> io::Result<u64> {
    text.parse().map_err(io::Error::other)
}
