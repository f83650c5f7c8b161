//! Rows of JSON: objects by their keys, arrays by their places, anything else as one cell.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::table::{Cell, Each, Kind, Number, Read as Table};

/// What a row is called that is one cell.
const VALUE: &str = "value";
/// How many members of an object are told.
const TOLD: usize = 50;

/// Reads one JSON document, or several one after the other.
pub fn read<R: Read>(
    open: &dyn Fn() -> Result<R, String>,
    member: Option<&str>,
    each: &mut Each<'_>,
) -> Result<Table, String> {
    let mut values = serde_json::Deserializer::from_reader(without_bom(open()?)?);
    let root = Root::deserialize(&mut values).map_err(told)?;
    let is_alone = values.end().is_ok();
    let member = match (root, member) {
        (Root::Array, None) => None,
        (Root::Object(_), Some(member)) => Some(member.to_owned()),
        (Root::Object(_), None) if !is_alone => return read_lines(open()?, each),
        (Root::Object(arrays), None) => match &arrays[..] {
            [] => return read_lines(open()?, each),
            [only] => Some(only.clone()),
            several => {
                let several = several.iter().take(TOLD).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                return Err(format!("several of its members hold rows, {several}; name one as the reading's `member`"));
            }
        },
        (Root::Array | Root::Other, Some(_)) => return Err("member: it is no object".to_owned()),
        (Root::Other, None) => return Err("it is neither an array nor an object".to_owned()),
    };
    let mut rows = Rows::new(each);
    let mut values = serde_json::Deserializer::from_reader(without_bom(open()?)?);
    let found = Holder { member: member.as_deref(), rows: &mut rows }.deserialize(&mut values);
    // What a row was refused for says more than where.
    let found = match (found, rows.refused.take()) {
        (_, Some(refused)) => return Err(refused),
        (found, None) => found.map_err(told)?,
    };
    if !found {
        return Err(format!("it has no member `{}`", member.unwrap_or_default()));
    }
    values.end().map_err(told)?;
    Ok(rows.table)
}

/// Reads a row from each value.
pub fn read_lines(file: impl Read, each: &mut Each<'_>) -> Result<Table, String> {
    let mut rows = Rows::new(each);
    let values = serde_json::Deserializer::from_reader(without_bom(file)?);
    for value in values.into_iter::<Box<RawValue>>() {
        rows.row(&value.map_err(told)?)?;
    }
    Ok(rows.table)
}

fn told(error: serde_json::Error) -> String {
    format!("no JSON that can be read: {error}")
}

/// A file without the mark that some programs put before JSON.
fn without_bom(mut file: impl Read) -> Result<impl Read, String> {
    let mut start = Vec::new();
    file.by_ref().take(3).read_to_end(&mut start).map_err(|error| error.to_string())?;
    let start = if start == b"\xef\xbb\xbf" { Vec::new() } else { start };
    Ok(std::io::Cursor::new(start).chain(file))
}

/// What a document is, with the members that hold arrays.
enum Root {
    Array,
    Object(Vec<String>),
    Other,
}

impl<'de> Deserialize<'de> for Root {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Look;

        impl<'de> Visitor<'de> for Look {
            type Value = Root;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a document")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Root, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Root::Array)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Root, A::Error> {
                let mut arrays = Vec::new();
                while let Some(name) = members.next_key::<String>()? {
                    if matches!(members.next_value()?, Root::Array) {
                        arrays.push(name);
                    }
                }
                Ok(Root::Object(arrays))
            }

            fn visit_unit<E>(self) -> Result<Root, E> {
                Ok(Root::Other)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Root, E> {
                Ok(Root::Other)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Root, E> {
                Ok(Root::Other)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Root, E> {
                Ok(Root::Other)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Root, E> {
                Ok(Root::Other)
            }

            fn visit_str<E>(self, _: &str) -> Result<Root, E> {
                Ok(Root::Other)
            }
        }

        deserializer.deserialize_any(Look)
    }
}

/// Reads the rows of a document, or of one of its members; says whether it was there.
struct Holder<'h, 'e> {
    member: Option<&'h str>,
    rows: &'h mut Rows<'e>,
}

impl<'de> DeserializeSeed<'de> for Holder<'_, '_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        match self.member {
            Some(_) => deserializer.deserialize_map(self),
            None => deserializer.deserialize_seq(self),
        }
    }
}

impl<'de> Visitor<'de> for Holder<'_, '_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.member.is_some() { "an object" } else { "an array of rows" })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<bool, A::Error> {
        while let Some(item) = items.next_element::<Box<RawValue>>()? {
            if let Err(refused) = self.rows.row(&item) {
                self.rows.refused = Some(refused);
                return Err(A::Error::custom("refused"));
            }
        }
        Ok(true)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<bool, A::Error> {
        let mut found = false;
        while let Some(name) = members.next_key::<String>()? {
            if !found && Some(name.as_str()) == self.member {
                found = members.next_value_seed(Holder { member: None, rows: self.rows })?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

struct Rows<'e> {
    table: Table,
    each: &'e mut Each<'e>,
    refused: Option<String>,
}

impl<'e> Rows<'e> {
    fn new(each: &'e mut Each<'_>) -> Self {
        Rows { table: Table::default(), each, refused: None }
    }

    fn row(&mut self, value: &RawValue) -> Result<(), String> {
        let text = value.get();
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let members = deserializer.deserialize_any(Members(text)).map_err(told)?;
        let mut row: Vec<Option<Cell<'_>>> = vec![None; self.table.columns.names().len()];
        for (name, value) in members {
            let place = self.table.columns.place(&name)?;
            if place >= row.len() {
                row.resize(place + 1, None);
            }
            row[place] = cell(value)?;
        }
        self.table.rows += 1;
        (self.each)(&self.table.columns, &row)
    }
}

/// The cells of a row, with the names of their columns.
struct Members<'v>(&'v str);

impl<'v> Visitor<'v> for Members<'v> {
    type Value = Vec<(String, &'v str)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row")
    }

    fn visit_map<A: MapAccess<'v>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut cells = Vec::new();
        while let Some((name, value)) = members.next_entry::<String, &'v RawValue>()? {
            cells.push((name, value.get()));
        }
        Ok(cells)
    }

    fn visit_seq<A: SeqAccess<'v>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut cells = Vec::new();
        while let Some(value) = items.next_element::<&'v RawValue>()? {
            cells.push(((cells.len() + 1).to_string(), value.get()));
        }
        Ok(cells)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        self.alone()
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        self.alone()
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        self.alone()
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        self.alone()
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        self.alone()
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        self.alone()
    }
}

impl<'v> Members<'v> {
    fn alone<E>(self) -> Result<Vec<(String, &'v str)>, E> {
        Ok(vec![(VALUE.to_owned(), self.0)])
    }
}

/// The cell of a JSON value.
fn cell(value: &str) -> Result<Option<Cell<'_>>, String> {
    let value = value.trim();
    let (text, kind) = match value.as_bytes() {
        b"null" => return Ok(None),
        b"true" | b"false" => (Cow::Borrowed(value), Kind::Boolean),
        [b'"', ..] => (Cow::Owned(serde_json::from_str(value).map_err(told)?), Kind::Text),
        [b'[' | b'{', ..] => (Cow::Borrowed(value), Kind::Nested),
        _ => (Cow::Borrowed(value), Number::parse(value).map_or(Kind::Text, Kind::Number)),
    };
    Ok(Some(Cell { text, kind }))
}
