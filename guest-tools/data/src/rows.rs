//! The rows that match.

use std::cmp::Ordering;

use crate::exports::witbox::data::data::{Comparison, Condition, Page, Reading};
use crate::table::{Cell, Columns, Kind, Number, Row, read};

pub fn rows(
    path: &str,
    conditions: &[Condition],
    wanted: Option<&[String]>,
    offset: u64,
    limit: u32,
    reading: &Reading,
) -> Result<Page, String> {
    let tests = conditions.iter().map(Test::new).collect::<Result<Vec<_>, _>>()?;
    let mut found: Vec<Vec<Option<String>>> = Vec::new();
    let mut room = paging::bytes();
    let mut matched = 0u64;
    let mut is_full = false;
    let mut has_names = false;
    let table = read(path, reading, &mut |columns: &Columns, row| {
        if !has_names {
            has_names = true;
            room = room.saturating_sub(names(wanted.unwrap_or(columns.names())));
        }
        if !tests.iter().all(|test| test.holds(columns, row)) {
            return Ok(());
        }
        matched += 1;
        if matched <= offset || found.len() as u64 >= u64::from(limit) || is_full {
            return Ok(());
        }
        let text = |place: Option<&usize>| {
            let cell = row.get(*place?)?.as_ref()?;
            Some(cell.text.clone().into_owned())
        };
        let cells: Vec<Option<String>> = match wanted {
            Some(wanted) => wanted.iter().map(|name| text(columns.known(name).as_ref())).collect(),
            None => (0..row.len()).map(|place| text(Some(&place))).collect(),
        };
        // As it is written: with quotes, what separates them, and escapes.
        let size = 4 + cells.iter().map(|cell| cell.as_deref().map_or(6, paging::written)).sum::<usize>();
        if size > room {
            if found.is_empty() {
                return Err(format!("row {matched} of those that match takes {size} bytes; ask for fewer of its columns"));
            }
            is_full = true;
            return Ok(());
        }
        room -= size;
        found.push(cells);
        Ok(())
    })?;
    for condition in conditions {
        table.columns.find(&condition.column).map_err(|error| format!("{path}: {error}"))?;
    }
    let columns = match wanted {
        Some(wanted) => {
            for name in wanted {
                table.columns.find(name).map_err(|error| format!("{path}: {error}"))?;
            }
            wanted.to_vec()
        }
        None => table.columns.names().to_vec(),
    };
    let (size, most) = (names(&columns), paging::bytes());
    if size > most {
        return Err(format!("the names of its columns take {size} bytes; name those to show, of those that `describe` tells"));
    }
    for row in &mut found {
        row.resize(columns.len(), None);
    }
    let next = offset + found.len() as u64;
    let has_more = limit > 0 && next < matched;
    Ok(Page { columns, rows: found, matched, next: has_more.then_some(next), notes: table.notes })
}

/// How much names take in the answer, in bytes.
fn names(columns: &[String]) -> usize {
    columns.iter().map(|name| paging::written(name)).sum()
}

/// A condition that can be told of a cell.
struct Test<'c> {
    column: &'c str,
    is: Comparison,
    value: &'c str,
    number: Option<Number>,
    folded: String,
}

impl<'c> Test<'c> {
    fn new(condition: &'c Condition) -> Result<Self, String> {
        let Condition { column, is, value } = condition;
        let needs_value = !matches!(is, Comparison::Missing | Comparison::Present);
        if needs_value != value.is_some() {
            let what = if needs_value { "needs a `value`" } else { "has no `value`" };
            return Err(format!("conditions: the one for `{column}` {what}"));
        }
        let value = value.as_deref().unwrap_or_default();
        let number = Number::parse(value.trim());
        let value = if number.is_some() { value.trim() } else { value };
        Ok(Test { column, is: *is, value, number, folded: value.to_lowercase() })
    }

    fn holds(&self, columns: &Columns, row: &Row<'_>) -> bool {
        let cell = columns.known(self.column).and_then(|place| row.get(place)?.as_ref());
        match (self.is, cell) {
            (Comparison::Missing, cell) => cell.is_none(),
            (Comparison::Present, cell) => cell.is_some(),
            (Comparison::NotEqual, None) => true,
            (_, None) => false,
            (Comparison::Contains, Some(cell)) => cell.text.to_lowercase().contains(&self.folded),
            (is, Some(cell)) => {
                let order = self.order(cell);
                match is {
                    Comparison::Equal => order.is_eq(),
                    Comparison::NotEqual => order.is_ne(),
                    Comparison::Less => order.is_lt(),
                    Comparison::AtMost => order.is_le(),
                    Comparison::More => order.is_gt(),
                    _ => order.is_ge(),
                }
            }
        }
    }

    /// How a cell stands to the value.
    fn order(&self, cell: &Cell<'_>) -> Ordering {
        match (cell.kind, self.number) {
            (Kind::Number(cell), Some(value)) => cell.compare(value),
            _ => (*cell.text).cmp(self.value),
        }
    }
}
