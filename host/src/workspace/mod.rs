//! What witbox keeps: a folder that is its own. No guest reaches it, but for the results of its own session.

mod agreement;
mod retention;
mod spool;
mod store;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Kind};
use crate::own;
pub use agreement::Agreement;
pub use retention::Retention;
pub(crate) use spool::{Lost, Spilled, Spool, SpoolError, SpoolLimits, Spooled};
pub use store::StoredResult;
pub(crate) use store::{ResultWriter, Stored};

/// The longest name of a session, in bytes.
const MAX_NAME: usize = 64;
/// Where the sessions are.
const SESSIONS: &str = "sessions";
/// Where a session's results are.
const RESULTS: &str = "results";

/// A folder that witbox owns. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Workspace {
    folder: Arc<Path>,
    retention: Retention,
}

/// Whose results these are: a name, and not a process. What is another session's is not found.
#[derive(Debug, Clone)]
pub struct Session {
    workspace: Workspace,
    name: Arc<str>,
    results: Arc<Path>,
}

impl Workspace {
    /// Opens a folder as a workspace, and makes it where it is not there.
    ///
    /// # Errors
    /// An error that [`is_workspace`](Error::is_workspace) when it is no folder, another user's, or one that others may use.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let refuse = |reason: String| Kind::Workspace { folder: folder.to_owned(), reason };
        let folder = own::folder(folder, "keep them out with chmod 700").map_err(refuse)?;
        Ok(Workspace { folder: folder.into(), retention: Retention::default() })
    }

    /// What is kept of results, and for how long.
    pub fn retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A session, which is made where it is not there.
    ///
    /// # Errors
    /// An error that [`is_workspace`](Error::is_workspace) when the name is none (1 to 64 letters, digits, `-`, `_` and `.`, not
    /// with a `.` first), or its folder cannot be made.
    pub fn session(&self, name: &str) -> Result<Session, Error> {
        let refuse = |reason: String| Kind::Workspace { folder: self.folder.to_path_buf(), reason };
        if !is_session_name(name) {
            return Err(Kind::Session(name.to_owned()).into());
        }
        let results = self.folder.join(SESSIONS).join(name).join(RESULTS);
        own::make(&results).map_err(|error| refuse(format!("{}: {error}", results.display())))?;
        Ok(Session { workspace: self.clone(), name: name.into(), results: results.into() })
    }

    /// The names of the sessions that there are, sorted.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn sessions(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        match fs::read_dir(self.folder.join(SESSIONS)) {
            Ok(folders) => {
                for folder in folders {
                    names.push(folder?.file_name().to_string_lossy().into_owned());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        names.sort();
        Ok(names)
    }
}

/// Whether a text can name a session.
pub(crate) fn is_session_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.len() <= MAX_NAME && !name.starts_with('.') && name.bytes().all(is_letter)
}

impl Session {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder of its workspace.
    pub fn folder(&self) -> &Path {
        self.workspace.folder()
    }

    /// The folder of its results.
    pub fn results_folder(&self) -> &Path {
        &self.results
    }
}
