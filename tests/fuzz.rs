//! The targets of the fuzzer, for some seconds: what is kept in `fuzz/seeds`, each with a name that says what it once broke,
//! and noise.

#[path = "fuzz/src/lib.rs"]
mod fuzz;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};

/// How long each target is given noise, and at least how much of it.
const TIME: Duration = Duration::from_secs(4);
const LEAST: usize = 20;

fn main() {
    let trials = fuzz::TARGETS.into_iter().map(|(name, target)| Trial::test(name, move || run(name, target)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn run(name: &str, target: fn(&[u8])) -> Result<(), Failed> {
    let mut samples = fuzz::samples(name);
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/seeds").join(name);
    for seed in fs::read_dir(seeds).into_iter().flatten() {
        samples.push(fs::read(seed?.path())?);
    }
    samples.iter().for_each(|sample| target(sample));
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let started = Instant::now();
    let mut count = 0;
    while count < LEAST || started.elapsed() < TIME {
        target(&random.noise(&samples));
        count += 1;
    }
    Ok(())
}

/// Xorshift64* by Vigna: the same numbers at each run.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % below.max(1)
    }

    /// A sample with some of it changed, left out, doubled or swapped.
    fn noise(&mut self, samples: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = samples[self.next(samples.len())].clone();
        for _ in 0..1 + self.next(4) {
            let (at, length) = (self.next(bytes.len()), self.next(64));
            let end = (at + length).min(bytes.len());
            match self.next(6) {
                0 => bytes.truncate(at),
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
                3 => bytes.splice(at..at, (0..length).map(|n| (n * 37) as u8)).for_each(drop),
                _ => bytes.iter_mut().skip(at).take(1 + length / 16).for_each(|byte| *byte = self.next(256) as u8),
            }
        }
        bytes
    }
}
