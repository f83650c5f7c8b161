//! Where results are kept, when the configuration does not say: in the user's state folder.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use witbox::{Plan, Workspace};

use super::report::Report;

/// Opens a plan's workspace, or the one that belongs to the file that it comes from. Without any, results are
/// given whole whatever their size, and a note says so.
///
/// # Errors
/// When the one that the configuration names cannot be used.
pub(super) fn open(plan: &Plan, origin: &Path, report: &Report) -> anyhow::Result<Option<Workspace>> {
    let opened = match &plan.workspace {
        Some(folder) => Workspace::open(folder).map_err(anyhow::Error::from),
        None => of_file(origin).context("there is no home").and_then(|folder| Ok(Workspace::open(&folder)?)),
    };
    match opened {
        Ok(workspace) => Ok(Some(workspace.retention(plan.retention))),
        Err(error) if plan.workspace.is_some() => Err(error),
        Err(error) => {
            report.note(&format!("{error:#}; results that are too large for a model are given whole"));
            Ok(None)
        }
    }
}

/// The workspace of a file: by the XDG Base Directory Specification, and by the file's real path.
fn of_file(file: &Path) -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    let path = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let mut digest = hex::encode(Sha256::digest(path.as_os_str().as_encoded_bytes()));
    digest.truncate(16);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Some(state.join("witbox").join(format!("{stem}-{digest}")))
}
