//! All that is below a folder, in order; and `glob`.

use std::fs;

use globset::{GlobBuilder, GlobMatcher};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::exports::witbox::files::files::{Kind, Paths};
use crate::folder::{below, kind, mount_paths};
use crate::failed;

/// Folders nested deeper than this are taken for a loop.
const MAX_DEPTH: usize = 64;

/// Comes to what is below a folder, until what it is told to do says that it is enough.
pub struct Walk<F> {
    visit: F,
    gitignore: bool,
    /// How many folders could not be looked into.
    pub skipped: u32,
    is_enough: bool,
    /// Those of the folders on the way, the last one first asked.
    rules: Vec<Gitignore>,
}

impl<F: FnMut(&str, Kind) -> bool> Walk<F> {
    /// A walk that visits what it comes to, as long as that says so.
    pub fn new(gitignore: bool, visit: F) -> Self {
        Walk { visit, gitignore, skipped: 0, is_enough: false, rules: Vec::new() }
    }

    /// Comes to everything below a folder, sorted by name. Links are come to and not followed: they lead to what is there
    /// anyway, or out.
    pub fn folder(&mut self, path: &str) -> std::io::Result<()> {
        self.below(path, 0)
    }

    fn below(&mut self, path: &str, depth: usize) -> std::io::Result<()> {
        let mut entries: Vec<_> = fs::read_dir(path)?.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        let rules = self.rules.len();
        if self.gitignore && entries.iter().any(|entry| entry.file_name() == ".gitignore") {
            let mut builder = GitignoreBuilder::new(path);
            // Lines that are no patterns are passed over, as git does.
            let _ = builder.add(below(path, ".gitignore"));
            self.rules.extend(builder.build());
        }
        for entry in entries {
            if self.is_enough {
                break;
            }
            let inner = below(path, &entry.file_name().to_string_lossy());
            let kind = entry.file_type().map_or(Kind::Other, kind);
            let is_folder = kind == Kind::Folder;
            if self.is_ignored(&inner, is_folder) {
                continue;
            }
            self.is_enough = !(self.visit)(&inner, kind);
            if is_folder && !self.is_enough && (depth == MAX_DEPTH || self.below(&inner, depth + 1).is_err()) {
                self.skipped += 1;
            }
        }
        self.rules.truncate(rules);
        Ok(())
    }

    fn is_ignored(&self, path: &str, is_folder: bool) -> bool {
        let asked = self.rules.iter().rev().map(|rules| rules.matched(path, is_folder));
        match asked.into_iter().find(|said| !said.is_none()) {
            Some(Match::Ignore(_)) => true,
            // Git keeps its own things there, and nobody else's.
            _ => self.gitignore && path.ends_with("/.git"),
        }
    }
}

/// What a pattern matches, below a folder.
pub fn pattern(name: &str, text: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| format!("{name}: {error}"))
}

/// A path as it is below a folder.
pub fn relative<'p>(path: &'p str, folder: &str) -> &'p str {
    path.strip_prefix(folder.trim_end_matches('/')).unwrap_or(path).trim_start_matches('/')
}

pub fn glob(text: &str, path: Option<&str>, offset: u64, limit: u32) -> Result<Paths, String> {
    let folders: Vec<String> = match path {
        Some(path) if path != "/" => vec![path.to_owned()],
        _ => mount_paths().collect(),
    };
    let mut found = Vec::new();
    for folder in &folders {
        // A pattern from the root means what is below a mount.
        let whole = text.starts_with('/');
        let matcher = pattern("pattern", text)?;
        let mut walk = Walk::new(false, |path: &str, _| {
            if matcher.is_match(if whole { path } else { relative(path, folder) }) {
                found.push(path.to_owned());
            }
            true
        });
        walk.folder(folder).map_err(|error| failed(folder, &error))?;
    }
    let total = found.len() as u64;
    if offset > total {
        return Err(format!("offset: {offset} is behind the end, {total} paths match"));
    }
    let (paths, next) = paging::part(found, offset, limit, |path| paging::written(path));
    Ok(Paths { paths, total, next })
}
