//! `edit`: exact replacement, and where there is none to make, what comes nearest.

use std::fs;

use memchr::memchr_iter;
use memchr::memmem::find_iter;

use crate::exports::witbox::files::files::Edited;
use crate::failed;

/// The largest file that is edited, in bytes: it is held whole, twice.
const MAX_BYTES: u64 = 16 << 20;
/// How many lines are compared at most to find the nearest.
const MAX_COMPARED: usize = 5_000;
/// How much of a line is compared, and how much of a place is shown, in characters.
const MAX_CHARS: usize = 200;
const MAX_SHOWN: usize = 1_000;
/// How many places are named.
const MAX_PLACES: usize = 10;
/// What is less alike than this is not near.
const NEAR: f64 = 0.6;

pub fn edit(path: &str, old: &str, new: &str, all: bool) -> Result<Edited, String> {
    if old.is_empty() {
        return Err("old: an empty text is everywhere; give the text around the place".to_owned());
    }
    if old == new {
        return Err("new: it is the same as old".to_owned());
    }
    let about = fs::metadata(path).map_err(|error| failed(path, &error))?;
    if about.len() > MAX_BYTES {
        return Err(format!("{path}: it has {} bytes, and at most {MAX_BYTES} are edited", about.len()));
    }
    let bytes = fs::read(path).map_err(|error| failed(path, &error))?;
    let places: Vec<usize> = find_iter(&bytes, old).collect();
    let line = |place: usize| memchr_iter(b'\n', &bytes[..place]).count() as u64 + 1;
    match places.len() {
        0 => return Err(format!("old: it is nowhere in {path}; {}", nearest(&bytes, old))),
        1 => {}
        count if !all => {
            let lines: Vec<String> = places.iter().take(MAX_PLACES).map(|place| line(*place).to_string()).collect();
            let more = if count > MAX_PLACES { " and more" } else { "" };
            return Err(format!(
                "old: it is {count} times in {path}, on lines {}{more}; give more of the text around the place, or all",
                lines.join(", ")
            ));
        }
        _ => {}
    }
    let mut edited = Vec::with_capacity(bytes.len() + places.len() * new.len());
    let mut at = 0;
    for place in &places {
        edited.extend_from_slice(&bytes[at..*place]);
        edited.extend_from_slice(new.as_bytes());
        at = place + old.len();
    }
    edited.extend_from_slice(&bytes[at..]);
    fs::write(path, &edited).map_err(|error| failed(path, &error))?;
    Ok(Edited { replaced: places.len() as u32, line: line(places[0]) })
}

/// What comes nearest to a text, in words for a model.
fn nearest(bytes: &[u8], old: &str) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains("\r\n") && !old.contains("\r\n") && text.contains(&old.replace('\n', "\r\n")) {
        return "its lines end in \\r\\n, and those of old in \\n".to_owned();
    }
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = old.lines().collect();
    let plain = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted_plain: Vec<String> = wanted.iter().map(|line| plain(line)).collect();
    // Alike but for white space: the first line tells where to look closer.
    let first = |line: &&str| wanted_plain.first().is_some_and(|wanted| plain(line).contains(wanted.as_str()));
    for start in (0..lines.len()).filter(|start| first(&lines[*start])) {
        let here = lines[start..].iter().take(wanted.len()).map(|line| plain(line));
        if here.eq(wanted_plain.iter().cloned()) {
            return place("it differs in white space alone from", &lines, start, wanted.len());
        }
    }
    let Some(probe) = wanted.iter().max_by_key(|line| line.trim().len()) else { return "nothing is near it".to_owned() };
    let offset = wanted.iter().position(|line| line == probe).unwrap_or_default();
    let cut = |line: &str| line.trim().chars().take(MAX_CHARS).collect::<String>();
    let probe = cut(probe);
    let compared = lines.iter().take(MAX_COMPARED).enumerate();
    let scored = compared.map(|(at, line)| (strsim::normalized_levenshtein(&cut(line), &probe), at));
    match scored.max_by(|one, other| one.0.total_cmp(&other.0)) {
        Some((score, at)) if score >= NEAR => {
            place("the nearest is", &lines, at.saturating_sub(offset), wanted.len())
        }
        _ => "nothing is near it; read the file and copy the text from there".to_owned(),
    }
}

fn place(words: &str, lines: &[&str], start: usize, count: usize) -> String {
    let end = lines.len().min(start + count.max(1));
    let shown: String = lines[start..end].join("\n").chars().take(MAX_SHOWN).collect();
    format!("{words} lines {}-{end}:\n{shown}", start + 1)
}
