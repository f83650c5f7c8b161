//! Rows of CSV.

use std::io::Read;

use csv::{ByteRecord, ReaderBuilder};

use crate::exports::witbox::data::data::Reading;
use crate::table::{Cell, Columns, Each, Read as Table, Row};

/// What may be between cells where nobody says it.
const SEPARATORS: [u8; 4] = *b",\t;|";

pub fn read(file: impl Read, start: &[u8], reading: &Reading, each: &mut Each<'_>) -> Result<Table, String> {
    let separator = match reading.separator.as_deref() {
        None => separator(start),
        Some(text) => match text.as_bytes() {
            [separator] if separator.is_ascii() && !matches!(separator, b'"' | b'\n' | b'\r') => *separator,
            _ => return Err("separator: one character, such as , or ;".to_owned()),
        },
    };
    let mut records = ReaderBuilder::new().has_headers(false).flexible(true).delimiter(separator).from_reader(file);
    let mut record = ByteRecord::new();
    let mut table = Table::default();
    let mut has_header = reading.header.unwrap_or(true);
    // Whatever later rows bring.
    let mut named = None;
    let (mut short, mut long, mut odd) = (0u64, 0u64, 0u64);
    while records.read_byte_record(&mut record).map_err(|error| error.to_string())? {
        let cells = record.iter().map(String::from_utf8_lossy);
        if std::mem::take(&mut has_header) {
            for name in cells {
                table.columns.add(name.trim())?;
            }
            named = Some(record.len());
            odd += u64::from(record.iter().any(|cell| std::str::from_utf8(cell).is_err()));
            continue;
        }
        let named = *named.get_or_insert(record.len());
        more_columns(&mut table.columns, record.len())?;
        long += u64::from(record.len() > named);
        short += u64::from(record.len() < named);
        odd += u64::from(record.iter().any(|cell| std::str::from_utf8(cell).is_err()));
        let mut row: Vec<Option<Cell<'_>>> = cells.map(Cell::of_text).collect();
        row.resize(table.columns.names().len(), None);
        table.rows += 1;
        let row: &Row<'_> = &row;
        each(&table.columns, row)?;
    }
    for (count, what) in [
        (short, "have fewer cells than there are columns"),
        (long, "have more cells than there were columns; those that have no name are called by their number"),
        (odd, "are not UTF-8, and are read with replacement characters"),
    ] {
        if count > 0 {
            table.notes.push(format!("rows: {count} {what}"));
        }
    }
    Ok(table)
}

/// Columns without a name are called by their number.
fn more_columns(columns: &mut Columns, count: usize) -> Result<(), String> {
    while columns.names().len() < count {
        columns.add(&(columns.names().len() + 1).to_string())?;
    }
    Ok(())
}

/// What is between the cells of the first row: the one of which there are most, outside of quotes.
fn separator(start: &[u8]) -> u8 {
    let mut counts = [0usize; SEPARATORS.len()];
    let (mut is_quoted, mut begins) = (false, true);
    for byte in start {
        let separator = SEPARATORS.iter().position(|separator| separator == byte);
        match (byte, separator) {
            // A quote within a cell is a quote.
            (b'"', _) if is_quoted || begins => is_quoted = !is_quoted,
            (b'\n' | b'\r', _) if !is_quoted => break,
            (_, Some(place)) if !is_quoted => counts[place] += 1,
            _ => {}
        }
        begins = !is_quoted && separator.is_some();
    }
    // The first of those that are equal.
    let most = (0..counts.len()).rev().max_by_key(|place| counts[*place]).unwrap_or_default();
    SEPARATORS[most]
}
