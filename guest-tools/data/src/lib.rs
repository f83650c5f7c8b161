//! Tables as tools. A row is read at a time, so that a file may be of any size.

mod csv_rows;
mod describe;
mod json_rows;
mod rows;
mod table;

wit_bindgen::generate!({ world: "data-tool", path: "wit" });

use exports::witbox::data::data::{Condition, Guest, Page, Reading, Table};

struct Data;

export!(Data);

impl Guest for Data {
    fn describe(path: String, columns: Option<Vec<String>>, reading: Option<Reading>) -> Result<Table, String> {
        describe::describe(&path, columns.as_deref(), &reading.unwrap_or_default())
    }

    fn rows(
        path: String,
        conditions: Option<Vec<Condition>>,
        columns: Option<Vec<String>>,
        offset: Option<u64>,
        limit: Option<u32>,
        reading: Option<Reading>,
    ) -> Result<Page, String> {
        rows::rows(
            &path,
            &conditions.unwrap_or_default(),
            columns.as_deref(),
            offset.unwrap_or(0),
            limit.unwrap_or(50),
            &reading.unwrap_or_default(),
        )
    }
}

impl Default for Reading {
    fn default() -> Self {
        Reading { format: None, header: None, separator: None, member: None }
    }
}
