//! Cases as files: what a toolset is granted, what it is asked, and what must come of it.

mod run;
mod tree;

use std::path::{Path, PathBuf};

use serde_json::Value;

pub use run::{CaseReport, LoadedCases, Trust};

use crate::call::Status;
use crate::config::Plan;
use crate::error::Error;
use crate::policy::PathPattern;
use crate::sandbox::{Answer, Fake};

/// A file of cases: toolsets as a configuration has them, fakes in place of servers, and calls with what must come of each.
///
/// ```
/// use std::path::Path;
/// use witbox::{CaseFile, Engine, Trust};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), witbox::Error> {
/// let text = r#"
///     [toolset.probe]
///     component = "builtin:probe"
///
///     [[case]]
///     name = "there is no network"
///     tool = "probe_fetch"
///     arguments = { url = "https://api.example/" }
///     structured = { refused = "HttpRequestDenied" }
///     denied = ["http GET https://api.example/"]
/// "#;
/// let cases = CaseFile::read(text, "network.cases.toml", Path::new("."))?;
/// let reports = cases.load(&Engine::new()?).run(Trust::Nothing).await;
/// assert!(reports[0].passed(), "{:?}", reports[0].failures);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CaseFile {
    pub(crate) file: String,
    pub(crate) folder: PathBuf,
    pub(crate) plan: Plan,
    pub(crate) fakes: Vec<Fake>,
    pub(crate) cases: Vec<Case>,
}

/// One call and what must come of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) tool: String,
    /// The text of a JSON object.
    pub(crate) arguments: String,
    /// What a person says, where one is asked.
    pub(crate) person: Option<Answer>,
    pub(crate) expected: Expected,
}

/// What must come of a call; nothing is anything.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expected {
    pub(crate) status: Status,
    pub(crate) text: Option<String>,
    pub(crate) contains: Vec<String>,
    pub(crate) structured: Option<Value>,
    pub(crate) schema: Option<Value>,
    /// `OPERATION TARGET` of each.
    pub(crate) denied: Option<Vec<String>>,
    pub(crate) max_fuel: Option<u64>,
    pub(crate) changed: Vec<PathPattern>,
    pub(crate) unchanged: Vec<PathPattern>,
}

impl CaseFile {
    /// Reads a file of cases. `file` is its name in diagnostics, and relative paths in it start at `folder`.
    ///
    /// # Errors
    /// An error that [`is_config`](Error::is_config), with the mistakes, the first hundred, in its [`diagnostics`](Error::diagnostics).
    pub fn read(text: &str, file: &str, folder: &Path) -> Result<Self, Error> {
        Ok(crate::config::cases(text, file, folder)?)
    }

    /// How many cases it has.
    pub fn len(&self) -> usize {
        self.cases.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }
}
