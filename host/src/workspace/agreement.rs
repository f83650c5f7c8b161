//! Which component each toolset was first started with: what an operator has agreed to, until told otherwise.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Workspace;
use crate::own;

/// Where the agreements are, a file for each toolset.
const FOLDER: &str = "components";

/// What an operator has agreed to run as a toolset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Agreement {
    /// The component's file. Another file is another agreement.
    pub component: PathBuf,
    /// `sha256:` and the hexadecimal SHA-256 of its bytes.
    pub digest: String,
    /// The functions that are its tools.
    pub tools: Vec<String>,
}

impl Workspace {
    /// The folder in which it is kept what was agreed to.
    pub fn agreements(&self) -> PathBuf {
        self.folder().join(FOLDER)
    }

    /// What was agreed to for a toolset; nothing where nothing was, or what was cannot be read.
    pub fn agreement(&self, toolset: &str) -> Option<Agreement> {
        serde_json::from_slice(&fs::read(self.agreement_file(toolset)).ok()?).ok()
    }

    /// What was agreed to for a toolset of this file, by its absolute path.
    pub(crate) fn agreement_to(&self, toolset: &str, file: &Path) -> Option<Agreement> {
        self.agreement(toolset).filter(|agreement| agreement.component == file)
    }

    /// Keeps what an operator agrees to for a toolset, in place of what was agreed to before.
    ///
    /// # Errors
    /// When it cannot be written. What was there before is there still.
    pub fn agree(&self, toolset: &str, agreement: &Agreement) -> io::Result<()> {
        let file = self.agreement_file(toolset);
        let folder = self.agreements();
        own::make(&folder)?;
        let mut new = tempfile::NamedTempFile::new_in(&folder)?;
        new.write_all(&serde_json::to_vec_pretty(agreement)?)?;
        new.persist(file)?;
        Ok(())
    }

    /// Names of toolsets are names of files.
    fn agreement_file(&self, toolset: &str) -> PathBuf {
        self.agreements().join(format!("{toolset}.json"))
    }
}

impl Agreement {
    /// To a component in a file, with these tools.
    ///
    /// # Errors
    /// When the path of a file cannot be made absolute.
    pub fn to(component: &Path, digest: &str, tools: Vec<String>) -> io::Result<Self> {
        Ok(Agreement { component: std::path::absolute(component)?, digest: digest.to_owned(), tools })
    }
}
