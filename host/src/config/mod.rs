//! `witbox.toml` → a plan: what to start and under which grants.

mod client;
mod read;
mod secret;
mod units;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::engine::{Capacity, MAX_COMPONENT};
use crate::error::Error;
use crate::policy::Grant;
use crate::reply::ResultLimits;
use crate::testing::CaseFile;
use crate::workspace::Retention;

pub use client::ClientPlan;
pub use secret::{SecretPlan, SecretSource};
pub(crate) use units::UnitError;
pub use units::{parse_bytes, parse_duration, parse_fuel};

/// What a configuration says, checked as far as its text goes: paths are not yet opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What all calls may use together, with room for the largest of its toolsets.
    pub capacity: Capacity,
    /// The largest component that is read, in bytes.
    pub max_component: u64,
    /// What the process that runs the calls gives up beforehand.
    pub wall: Wall,
    /// Where results are kept; nothing where the program is to choose.
    pub workspace: Option<PathBuf>,
    /// How much of a result a model reads.
    pub results: ResultLimits,
    /// By what tokens are counted, as [`tokenizer`](crate::tokenizer) knows it; nothing where four bytes are one.
    pub tokenizer: Option<String>,
    /// What is kept of results, and for how long.
    pub retention: Retention,
    /// The toolsets, in the order of the file.
    pub toolsets: Vec<ToolsetPlan>,
    /// Who may ask over HTTP, in the order of the file.
    pub clients: Vec<ClientPlan>,
}

/// What a process that runs calls gives up before it runs any: files, ports and system calls that no grant needs, so that
/// even a hole in the engine leads nowhere. It is the program's doing, and never the library's, which lives in a process of
/// somebody else's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wall {
    /// As much as the system offers.
    #[default]
    Offered,
    /// All of it, or nothing is run.
    Required,
    /// Nothing.
    Off,
}

/// One `[toolset.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolsetPlan {
    /// Its name.
    pub name: String,
    /// Where its component is.
    pub source: Source,
    /// The digest that the component must have, as `sha256:` and 64 hexadecimal digits; nothing lets any component be
    /// used.
    pub digest: Option<String>,
    /// Whether any component may take the place of the one that it was first started with: for who writes it.
    pub reload: bool,
    /// The functions that become tools; nothing for all of them.
    pub tools: Option<Vec<String>>,
    /// What each of its calls may do, without its secrets, which are not read yet.
    pub grant: Grant,
    /// Its secrets, and where their values come from.
    pub secrets: Vec<SecretPlan>,
}

/// Where a component is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// One that comes with witbox, by its name.
    Builtin(String),
    /// A file.
    File(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Builtin(name) => write!(f, "builtin:{name}"),
            Source::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl ToolsetPlan {
    /// A toolset with all of its component's tools, and without secrets.
    pub fn new(name: impl Into<String>, source: Source, grant: Grant) -> Self {
        ToolsetPlan { name: name.into(), source, digest: None, reload: false, tools: None, grant, secrets: Vec::new() }
    }
}

impl Plan {
    /// A plan whose capacity is the default one, or more where a single call may use more.
    pub fn new(toolsets: Vec<ToolsetPlan>) -> Self {
        let mut capacity = Capacity::default();
        let needed = toolsets.iter().map(|toolset| toolset.grant.call_limits().on_host()).max();
        capacity.memory = capacity.memory.max(needed.unwrap_or_default());
        capacity.call_memory = largest(&toolsets).unwrap_or(capacity.call_memory);
        Plan {
            capacity,
            max_component: MAX_COMPONENT,
            wall: Wall::default(),
            workspace: None,
            results: ResultLimits::default(),
            tokenizer: None,
            retention: Retention::default(),
            toolsets,
            clients: Vec::new(),
        }
    }

    /// Reads the text of a configuration. `file` is its name in diagnostics, and relative paths in it start at
    /// `folder`.
    ///
    /// # Errors
    /// An error that [`is_config`](Error::is_config), with the mistakes, the first hundred, in its [`diagnostics`](Error::diagnostics).
    ///
    /// ```
    /// use std::path::Path;
    ///
    /// let text = "[limits]\nmemroy = \"1GiB\"\n";
    /// let error = witbox::Plan::read(text, "witbox.toml", Path::new(".")).unwrap_err();
    /// assert_eq!(
    ///     error.diagnostics()[0].to_string(),
    ///     "witbox.toml:2:1: unknown key `memroy` in [limits]; did you mean `memory`?"
    /// );
    /// ```
    pub fn read(text: &str, file: &str, folder: &Path) -> Result<Self, Error> {
        Ok(read::plan(text, file, folder)?)
    }
}

/// The most memory that a call of any of these may use.
fn largest(toolsets: &[ToolsetPlan]) -> Option<u64> {
    toolsets.iter().map(|toolset| toolset.grant.call_limits().memory).max()
}

/// Reads a file of cases.
pub(crate) fn cases(text: &str, file: &str, folder: &Path) -> Result<CaseFile, Diagnostics> {
    read::cases(text, file, folder)
}

/// One mistake in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The file's name.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// The mistakes of a configuration, at least one.
#[derive(Debug)]
pub(crate) struct Diagnostics {
    told: Vec<Diagnostic>,
    /// How many more there are.
    more: usize,
}

impl Diagnostics {
    pub(crate) fn as_slice(&self) -> &[Diagnostic] {
        &self.told
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.told.iter().enumerate() {
            write!(f, "{}{diagnostic}", if index == 0 { "" } else { "\n" })?;
        }
        if self.more > 0 { write!(f, "\nand {} more mistakes", self.more) } else { Ok(()) }
    }
}

impl std::error::Error for Diagnostics {}
