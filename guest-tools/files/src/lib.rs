//! Files as tools, over `std::fs`.
//!
//! Nothing here checks what may be touched. A path outside of the mounts is refused by the host, whatever this code
//! does.

mod change;
mod edit;
mod folder;
mod search;
mod text;
mod walk;

wit_bindgen::generate!({ world: "files-tool", path: "wit" });

use exports::witbox::files::files::{About, Edited, Guest, Listing, Matches, Paths, Show};

struct Files;

export!(Files);

impl Guest for Files {
    fn ls(path: Option<String>, offset: Option<u64>, limit: Option<u32>) -> Result<Listing, String> {
        folder::list(path.as_deref().unwrap_or("/"), offset.unwrap_or(0), limit.unwrap_or(500))
    }

    fn read(
        path: String,
        offset: Option<u64>,
        limit: Option<u32>,
        from_byte: Option<u64>,
    ) -> Result<String, String> {
        match (offset, from_byte) {
            (Some(_), Some(_)) => Err("from_byte: a line is given by offset already".to_owned()),
            (None, Some(from)) => text::read_bytes(&path, from, limit),
            (offset, None) => text::read_lines(&path, offset.unwrap_or(1), limit.unwrap_or(500)),
        }
    }

    fn write(path: String, content: String, append: Option<bool>) -> Result<u64, String> {
        change::write(&path, &content, append.unwrap_or(false))
    }

    fn edit(path: String, old: String, new: String, all: Option<bool>) -> Result<Edited, String> {
        edit::edit(&path, &old, &new, all.unwrap_or(false))
    }

    fn glob(
        pattern: String,
        path: Option<String>,
        offset: Option<u64>,
        limit: Option<u32>,
    ) -> Result<Paths, String> {
        walk::glob(&pattern, path.as_deref(), offset.unwrap_or(0), limit.unwrap_or(500))
    }

    fn grep(
        path: String,
        text: String,
        regex: Option<bool>,
        ignore_case: Option<bool>,
        context: Option<u32>,
        show: Option<Show>,
        glob: Option<String>,
        gitignore: Option<bool>,
        limit: Option<u32>,
    ) -> Result<Matches, String> {
        search::grep(&search::Wanted {
            path: &path,
            text: &text,
            regex: regex.unwrap_or(false),
            ignore_case: ignore_case.unwrap_or(false),
            context: context.unwrap_or(0) as usize,
            show: show.unwrap_or(Show::Lines),
            glob: glob.as_deref(),
            gitignore: gitignore.unwrap_or(false),
            limit: limit.unwrap_or(100) as usize,
        })
    }

    fn delete(path: String, recursive: Option<bool>) -> Result<u32, String> {
        change::delete(&path, recursive.unwrap_or(false))
    }

    fn move_(path: String, to: String, replace: Option<bool>) -> Result<(), String> {
        change::rename(&path, &to, replace.unwrap_or(false))
    }

    fn info(path: String) -> Result<About, String> {
        folder::info(&path)
    }
}

/// A path and what is wrong with it, in words for a model.
fn failed(path: &str, error: &std::io::Error) -> String {
    use std::io::ErrorKind::*;
    // The standard library has no kinds for most of WASI's numbers.
    let reason = match (error.raw_os_error(), error.kind()) {
        (Some(errno::NOT_CAPABLE), _) => format!("it is outside of {}", folder::mounted()),
        (Some(errno::NOT_EMPTY), _) => "the folder is not empty; recursive deletes all that is in it".to_owned(),
        (Some(errno::NOT_DIRECTORY), _) => "it is no folder".to_owned(),
        (Some(errno::IS_DIRECTORY), _) | (_, IsADirectory) => "it is a folder".to_owned(),
        (Some(errno::READ_ONLY), _) => "it is mounted read-only".to_owned(),
        (Some(errno::CROSSES_MOUNTS), _) => "it is in another mount".to_owned(),
        (_, NotFound) => "there is no such file or folder".to_owned(),
        (_, PermissionDenied) => "it leads out of what is mounted, or cannot be changed there".to_owned(),
        _ => error.to_string(),
    };
    format!("{path}: {reason}")
}

/// WASI's numbers of errors.
mod errno {
    pub const IS_DIRECTORY: i32 = 31;
    pub const NOT_DIRECTORY: i32 = 54;
    pub const NOT_EMPTY: i32 = 55;
    pub const READ_ONLY: i32 = 69;
    pub const CROSSES_MOUNTS: i32 = 75;
    /// No mounted folder holds the path.
    pub const NOT_CAPABLE: i32 = 76;
}
