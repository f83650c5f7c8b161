//! A table as its rows, whatever it is written in.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read as _};

use crate::exports::witbox::data::data::{Format, Reading};
use crate::{csv_rows, json_rows};

/// The most columns of a table: rows of JSON may each have names of their own.
const MAX_COLUMNS: usize = 10_000;
/// How much of a name is told in an error, in bytes.
const MAX_TOLD: usize = 60;
/// How much of a file is looked at to tell what it is.
const START: u64 = 64 << 10;
/// How much is read at once.
const PIECE: usize = 64 << 10;

/// What a cell is.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Number(Number),
    Boolean,
    Text,
    Nested,
}

/// A cell that is there.
#[derive(Debug, Clone)]
pub struct Cell<'r> {
    pub text: Cow<'r, str>,
    pub kind: Kind,
}

impl<'r> Cell<'r> {
    /// The cell of a text without a type; nothing where there is none.
    pub fn of_text(text: Cow<'r, str>) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let kind = match &*text {
            "true" | "false" | "True" | "False" | "TRUE" | "FALSE" => Kind::Boolean,
            text => Number::parse(text).map_or(Kind::Text, Kind::Number),
        };
        Some(Cell { text, kind })
    }
}

/// A number of a cell: exact where it is whole.
#[derive(Debug, Clone, Copy)]
pub struct Number {
    pub whole: Option<i128>,
    pub float: f64,
}

impl Number {
    /// A number as programs write it: digits, perhaps a sign, a fraction, an exponent.
    pub fn parse(text: &str) -> Option<Self> {
        let is_number = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
        let float: f64 = is_number.then(|| text.parse().ok()).flatten()?;
        // With a zero before its digits it is a name, such as that of a town or a telephone.
        let digits = text.trim_start_matches(['+', '-']);
        let is_name = digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit();
        (float.is_finite() && !is_name).then(|| Number { whole: text.parse().ok(), float })
    }

    pub fn compare(self, other: Number) -> Ordering {
        match (self.whole, other.whole) {
            (Some(one), Some(other)) => one.cmp(&other),
            // Neither is no number.
            _ => self.float.partial_cmp(&other.float).unwrap_or(Ordering::Equal),
        }
    }
}

/// The names of a table's columns, in the order in which they come.
#[derive(Debug, Default)]
pub struct Columns {
    names: Vec<String>,
    places: HashMap<String, usize>,
}

impl Columns {
    /// The place of a column, which is a new one where it was not there.
    pub fn place(&mut self, name: &str) -> Result<usize, String> {
        match self.places.get(name) {
            Some(place) => Ok(*place),
            None => self.add(name),
        }
    }

    /// Adds a column; of several of one name the later ones are numbered.
    pub fn add(&mut self, name: &str) -> Result<usize, String> {
        let place = self.names.len();
        if place == MAX_COLUMNS {
            return Err(format!("it has more than {MAX_COLUMNS} columns"));
        }
        let mut unique = name.to_owned();
        let mut number = 1;
        while self.places.contains_key(&unique) {
            number += 1;
            unique = format!("{name} ({number})");
        }
        self.places.insert(unique.clone(), place);
        self.names.push(unique);
        Ok(place)
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The place of a column, where there is one.
    pub fn known(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// The place of a column that somebody names.
    pub fn find(&self, name: &str) -> Result<usize, String> {
        self.known(name).ok_or_else(|| {
            let short = |name: &str| format!("`{}`", &name[..name.floor_char_boundary(MAX_TOLD)]);
            let known = self.names.iter().take(50).map(|name| short(name)).collect::<Vec<_>>().join(", ");
            let name = &name[..name.floor_char_boundary(MAX_TOLD)];
            let more = if self.names.len() > 50 { format!(" and {} more", self.names.len() - 50) } else { String::new() };
            format!("there is no column `{name}`; there are {known}{more}")
        })
    }
}

/// A row: what is there of each column.
pub type Row<'r> = [Option<Cell<'r>>];

/// Takes the rows of a table one by one, each with the columns that are known by then.
pub type Each<'e> = dyn FnMut(&Columns, &Row<'_>) -> Result<(), String> + 'e;

/// What was read of a table.
#[derive(Debug, Default)]
pub struct Read {
    pub columns: Columns,
    pub rows: u64,
    pub notes: Vec<String>,
}

/// Reads a table.
pub fn read(path: &str, reading: &Reading, each: &mut Each<'_>) -> Result<Read, String> {
    let told = |error: String| format!("{path}: {error}");
    let mut start = Vec::new();
    let mut file = File::open(path).map_err(|error| told(error.to_string()))?;
    file.by_ref().take(START).read_to_end(&mut start).map_err(|error| told(error.to_string()))?;
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return Err(told("it is UTF-16, which is not read".to_owned()));
    }
    if start.contains(&0) {
        return Err(told("it is no text".to_owned()));
    }
    // From its beginning, once more.
    let open = || File::open(path).map(|file| BufReader::with_capacity(PIECE, file)).map_err(|error| error.to_string());
    let read = match reading.format.unwrap_or_else(|| format(path, &start)) {
        Format::Csv => csv_rows::read(open().map_err(told)?, &start, reading, each),
        Format::Json => json_rows::read(&open, reading.member.as_deref(), each),
        Format::JsonLines => json_rows::read_lines(open().map_err(told)?, each),
    };
    read.map_err(told)
}

fn format(path: &str, start: &[u8]) -> Format {
    let name = path.to_ascii_lowercase();
    if name.ends_with(".jsonl") || name.ends_with(".ndjson") {
        return Format::JsonLines;
    }
    if name.ends_with(".csv") || name.ends_with(".tsv") || name.ends_with(".tab") {
        return Format::Csv;
    }
    if name.ends_with(".json") {
        return Format::Json;
    }
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    match start.trim_ascii_start().first() {
        Some(b'[' | b'{') => Format::Json,
        _ => Format::Csv,
    }
}
