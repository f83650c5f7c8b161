//! What is in a table.

use crate::exports::witbox::data::data::{Column, Kind as Told, Reading, Table};
use crate::table::{Cell, Columns, Kind, Number, read};

/// How much of a text is told as the least or the greatest, in bytes.
const MAX_TEXT: usize = 100;
/// What a column takes in the answer beside its texts, about, in bytes.
const AROUND: usize = 150;

/// What is known of a column.
#[derive(Debug, Default, Clone)]
struct Seen {
    present: u64,
    integers: u64,
    numbers: u64,
    booleans: u64,
    nested: u64,
    least: Option<(Number, String)>,
    greatest: Option<(Number, String)>,
    first: Option<String>,
    last: Option<String>,
    sum: f64,
    /// What the sum lost, by Neumaier's variant of Kahan's summation.
    lost: f64,
}

impl Seen {
    fn see(&mut self, cell: &Cell<'_>) {
        self.present += 1;
        let text = &cell.text[..cell.text.floor_char_boundary(MAX_TEXT)];
        match cell.kind {
            Kind::Number(number) => self.see_number(number, text),
            Kind::Boolean => self.booleans += 1,
            Kind::Nested => self.nested += 1,
            Kind::Text => {}
        }
        if self.first.as_deref().is_none_or(|first| text < first) {
            self.first = Some(text.to_owned());
        }
        if self.last.as_deref().is_none_or(|last| text > last) {
            self.last = Some(text.to_owned());
        }
    }

    fn see_number(&mut self, number: Number, text: &str) {
        self.numbers += 1;
        self.integers += u64::from(number.whole.is_some());
        let sum = self.sum + number.float;
        self.lost += match self.sum.abs() >= number.float.abs() {
            true => (self.sum - sum) + number.float,
            false => (number.float - sum) + self.sum,
        };
        self.sum = sum;
        if self.least.as_ref().is_none_or(|(least, _)| number.compare(*least).is_lt()) {
            self.least = Some((number, text.to_owned()));
        }
        if self.greatest.as_ref().is_none_or(|(greatest, _)| number.compare(*greatest).is_gt()) {
            self.greatest = Some((number, text.to_owned()));
        }
    }

    fn kind(&self) -> Told {
        match self.present {
            0 => Told::Empty,
            all if all == self.integers => Told::Integer,
            all if all == self.numbers => Told::Number,
            all if all == self.booleans => Told::Boolean,
            all if all == self.nested => Told::Nested,
            _ => Told::Text,
        }
    }

    fn column(self, name: &str) -> Column {
        let kind = self.kind();
        let is_number = matches!(kind, Told::Integer | Told::Number);
        let (minimum, maximum) = match kind {
            Told::Integer | Told::Number => (self.least.map(|(_, text)| text), self.greatest.map(|(_, text)| text)),
            Told::Nested => (None, None),
            _ => (self.first, self.last),
        };
        Column {
            name: name.to_owned(),
            kind,
            present: self.present,
            numbers: self.numbers,
            minimum,
            maximum,
            mean: is_number.then(|| (self.sum + self.lost) / self.numbers as f64).filter(|mean| mean.is_finite()),
        }
    }
}

pub fn describe(path: &str, wanted: Option<&[String]>, reading: &Reading) -> Result<Table, String> {
    let mut seen: Vec<Seen> = Vec::new();
    let table = read(path, reading, &mut |columns: &Columns, row| {
        seen.resize_with(columns.names().len(), Seen::default);
        for (seen, cell) in seen.iter_mut().zip(row) {
            if let Some(cell) = cell {
                seen.see(cell);
            }
        }
        Ok(())
    })?;
    seen.resize_with(table.columns.names().len(), Seen::default);
    let places = match wanted {
        Some(wanted) => wanted.iter().map(|name| table.columns.find(name)).collect::<Result<Vec<_>, _>>()?,
        None => (0..seen.len()).collect(),
    };
    let mut room = paging::bytes();
    let mut columns = Vec::new();
    for place in &places {
        let column = seen[*place].clone().column(&table.columns.names()[*place]);
        let texts = [Some(&column.name), column.minimum.as_ref(), column.maximum.as_ref()];
        let size = AROUND + texts.into_iter().flatten().map(|text| paging::written(text)).sum::<usize>();
        if size > room {
            break;
        }
        room -= size;
        columns.push(column);
    }
    let left_out = (places.len() - columns.len()) as u64;
    Ok(Table { rows: table.rows, columns, left_out, notes: table.notes })
}
