//! Files as tools: `ls`, `read`, `write` and `grep` over `std::fs`.
//!
//! Nothing here checks what may be touched. A path outside of the mounts is refused by the host, whatever this code
//! does.

mod folder;
mod search;
mod text;

wit_bindgen::generate!({ world: "files-tool", path: "wit" });

use exports::witbox::files::files::{Entry, Guest, Matches};

struct Files;

export!(Files);

impl Guest for Files {
    fn ls(path: Option<String>) -> Result<Vec<Entry>, String> {
        folder::list(path.as_deref().unwrap_or("/"))
    }

    fn read(path: String, offset: Option<u32>, limit: Option<u32>) -> Result<String, String> {
        text::read(&path, offset.unwrap_or(1), limit.unwrap_or(500))
    }

    fn write(path: String, content: String) -> Result<u64, String> {
        text::write(&path, &content)
    }

    fn grep(path: String, text: String, ignore_case: Option<bool>, limit: Option<u32>) -> Result<Matches, String> {
        search::grep(&path, &text, ignore_case.unwrap_or(false), limit.unwrap_or(100))
    }
}

/// A path and what is wrong with it, in words for a model.
fn failed(path: &str, error: &std::io::Error) -> String {
    /// WASI's `notcapable`: no mounted folder holds the path.
    const NOT_CAPABLE: i32 = 76;
    use std::io::ErrorKind::*;
    let reason = match error.kind() {
        _ if error.raw_os_error() == Some(NOT_CAPABLE) => format!("it is outside of {}", folder::mounted()),
        NotFound => "there is no such file or folder".to_owned(),
        PermissionDenied => "it leads out of what is mounted, or cannot be changed there".to_owned(),
        NotADirectory => "it is no folder".to_owned(),
        IsADirectory => "it is a folder".to_owned(),
        ReadOnlyFilesystem => "it is mounted read-only".to_owned(),
        _ => error.to_string(),
    };
    format!("{path}: {reason}")
}
