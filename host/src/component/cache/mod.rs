//! Compiled code that outlives the process, and beside it what is known of each component.
//!
//! Compiled code is trusted: whoever writes it runs as we do. So the folder is this user's alone, and every file has a
//! message authentication code under a key that only this user can read. What fails any check is as good as absent.

mod key;
mod known;

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::compile::{Compiled, MAX_DESCRIPTION, describe};
use super::description::Description;
use crate::error::{Error, Kind};
use crate::own;
use key::Key;
use known::Known;

/// What is kept of the code of all components, in bytes, where nothing else is said.
const MAX_BYTES: u64 = 2 << 30;
/// Counts what changes in how things are described or derived, so that no older description is read.
const FORMAT: u32 = 2;

/// Keeps compiled code in a folder, for this and other processes of the same user.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    key: Key,
    max_bytes: u64,
}

/// What the cache has of one component.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Cached {
    /// `sha256:` and the hexadecimal SHA-256 of the component; nothing where the entry cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The entry's name in the folder.
    pub name: String,
    /// The functions that are tools.
    pub tools: Vec<String>,
    /// Its size in bytes.
    pub bytes: u64,
    /// Why it will not be used; nothing where it will.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// An entry's file, behind its code's tag.
#[derive(Serialize, Deserialize)]
struct Entry<D> {
    code_tag: String,
    description: D,
}

/// Code that is in the cache, checked.
pub(super) struct CachedCode(pub(super) PathBuf);

impl Cache {
    /// Opens a folder as a cache, and makes it where it is not there. Where nothing may be written to it, what it has is used.
    ///
    /// # Errors
    /// An error that [`is_cache`](Error::is_cache) when it is no folder, another user's, or one that others may write to.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let refuse = |reason: String| Kind::Cache { folder: folder.to_owned(), reason };
        let folder = own::folder(folder, "remove it, as with rm -r").map_err(refuse)?;
        let key = Key::of(&folder).map_err(|error| refuse(error.to_string()))?;
        Ok(Cache { folder, key, max_bytes: MAX_BYTES })
    }

    /// Keeps at most so many bytes; 2 GiB where nothing is said.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it has, sorted by name. Every byte is checked.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self) -> io::Result<Vec<Cached>> {
        let mut all: Vec<Cached> = self.names()?.into_iter().map(|name| self.cached(name)).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    /// Removes what cannot be used, and then what was not used for longest until at most so many bytes are left. Says how
    /// many entries went.
    ///
    /// # Errors
    /// When the folder cannot be read, or something cannot be removed.
    pub fn prune(&self, bytes: u64) -> io::Result<usize> {
        let faulty = self.list()?.into_iter().filter(|cached| cached.fault.is_some());
        let mut removed = 0;
        for cached in faulty {
            self.remove(&cached.name)?;
            removed += 1;
        }
        removed += self.shrink(bytes)?;
        Known::new(self).prune()?;
        Ok(removed)
    }

    /// What is known of the component with a digest, for an engine.
    pub(super) fn description(&self, digest: &str, code_id: u64) -> Option<Description> {
        let entry = self.entry(&name(digest, code_id)).ok()?;
        (entry.description.digest == digest).then_some(entry.description)
    }

    /// The code of the component with a digest, for an engine.
    pub(super) fn code(&self, digest: &str, code_id: u64) -> Option<CachedCode> {
        let name = name(digest, code_id);
        let entry = self.entry(&name).ok()?;
        let path = self.path(&name, CODE);
        let mut code = open(&path).ok()?;
        self.key.verify_all(&path, &mut code, entry.code_tag.as_bytes()).ok()?;
        // The order in which they are removed, and nothing else.
        let _ = own::renew(&code.file);
        Some(CachedCode(path))
    }

    /// Keeps a compiled component. Nothing is kept where it fails, and nothing else is harmed.
    pub(crate) fn keep(&self, compiled: &Compiled, code_id: u64) -> io::Result<()> {
        let size = compiled.code.len() as u64;
        if size > self.max_bytes {
            return Err(io::Error::other("it is larger than all that is kept"));
        }
        self.shrink(self.max_bytes - size)?;
        let name = name(&compiled.description.digest, code_id);
        let (code, tools) = (self.path(&name, CODE), self.path(&name, ENTRY));
        let code_tag = self.key.tag(&code, &compiled.code);
        let entry = serde_json::to_vec(&Entry { code_tag, description: &compiled.description })?;
        // The code first: an entry never points to what is not there yet.
        self.write(&code, &[&compiled.code])?;
        self.write(&tools, &[self.key.tag(&tools, &entry).as_bytes(), &entry])?;
        self.clear(&tools)
    }

    /// What is known of the component in a file, for an engine, where the file has not changed since it was last read.
    pub(super) fn known(&self, file: &Path, code_id: u64) -> Option<Description> {
        Known::new(self).description(file, code_id)
    }

    /// Remembers what is known of a file, which had these attributes before it was read.
    pub(super) fn remember(&self, before: &fs::Metadata, description: &Description, code_id: u64) {
        // Nothing depends on it but time.
        let _ = Known::new(self).remember(before, description, code_id);
    }

    fn entry(&self, name: &str) -> io::Result<Entry<Description>> {
        let json = self.read_tagged(&self.path(name, ENTRY))?;
        describe(&json)
    }

    fn read_tagged(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut file = open(path)?;
        let size = usize::try_from(file.size).ok().filter(|size| *size <= MAX_TAGGED);
        let mut content = vec![0; size.ok_or_else(|| io::Error::other("it is too large"))?];
        // It was written whole, before it had its name.
        file.read_exact(&mut content)?;
        let (tag, text) = content.split_at_checked(key::TAG_CHARS).ok_or(io::ErrorKind::UnexpectedEof)?;
        self.key.verify(path, text, tag)?;
        content.drain(..key::TAG_CHARS);
        Ok(content)
    }

    fn cached(&self, name: String) -> Cached {
        let bytes = [ENTRY, CODE].iter().filter_map(|kind| self.path(&name, kind).metadata().ok());
        let bytes = bytes.map(|about| about.len()).sum();
        let entry = self.entry(&name);
        let code = entry.as_ref().map(|entry| {
            let path = self.path(&name, CODE);
            open(&path).and_then(|mut code| self.key.verify_all(&path, &mut code, entry.code_tag.as_bytes()))
        });
        let fault = match (&entry, code) {
            (Err(error), _) => Some(error.to_string()),
            (_, Ok(Err(error))) => Some(format!("its code: {error}")),
            _ => None,
        };
        let described = entry.ok().map(|entry| entry.description);
        let tools = described.iter().flat_map(|described| &described.exported.tools);
        let tools = tools.map(|tool| tool.export().to_string()).collect();
        Cached { digest: described.map(|described| described.digest), name, tools, bytes, fault }
    }

    /// The names of all entries, those without code and the other way around included.
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for file in fs::read_dir(&self.folder)? {
            let file = PathBuf::from(file?.file_name());
            let kind = file.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
            if let (ENTRY | CODE, Some(stem)) = (kind, file.file_stem()) {
                names.push(stem.to_string_lossy().into_owned());
            }
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Removes what was not used for longest until at most so many bytes are left.
    fn shrink(&self, bytes: u64) -> io::Result<usize> {
        let mut entries: Vec<_> = self
            .names()?
            .into_iter()
            .filter_map(|name| {
                let files = [CODE, ENTRY].map(|kind| self.path(&name, kind).metadata().ok());
                let size = files.iter().flatten().map(fs::Metadata::len).sum::<u64>();
                Some((files.into_iter().flatten().next()?.mtime(), size, name))
            })
            .collect();
        entries.sort();
        let mut total: u64 = entries.iter().map(|(_, size, _)| size).sum();
        let mut removed = 0;
        for (_, size, name) in entries {
            if total <= bytes {
                break;
            }
            self.remove(&name)?;
            total -= size;
            removed += 1;
        }
        Ok(removed)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        for kind in [ENTRY, CODE] {
            match fs::remove_file(self.path(name, kind)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes what processes left that were killed while they wrote, an hour before a file that was only just written.
    fn clear(&self, written: &Path) -> io::Result<()> {
        let now = written.metadata()?.mtime();
        for file in fs::read_dir(&self.folder)? {
            let file = file?;
            let is_left = file.file_name().as_encoded_bytes().starts_with(TEMPORARY.as_bytes())
                && file.metadata().is_ok_and(|about| about.mtime() < now - 3_600);
            if is_left {
                // Another may have been faster.
                let _ = fs::remove_file(file.path());
            }
        }
        Ok(())
    }

    fn path(&self, name: &str, kind: &str) -> PathBuf {
        self.folder.join(format!("{name}.{kind}"))
    }

    /// Writes a file that is there as a whole or not at all.
    fn write(&self, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(&self.folder)?;
        for part in parts {
            file.write_all(part)?;
        }
        file.persist(path)?;
        Ok(())
    }
}
/// What the files of an entry are called, behind its name.
const ENTRY: &str = "tools";
const CODE: &str = "code";
/// What files are called while they are written.
const TEMPORARY: &str = ".new-";

/// The name of an entry: of a component, for engines that run the same code, and what reads descriptions.
fn name(digest: &str, code_id: u64) -> String {
    format!("{}-{:016x}", digest.trim_start_matches("sha256:"), reader_id(code_id))
}

/// What tells which code and which descriptions can be read: the engine's code, and what reads.
fn reader_id(code_id: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (code_id, FORMAT, env!("CARGO_PKG_VERSION")).hash(&mut hasher);
    hasher.finish()
}

/// No link is followed, and a pipe is not waited for.
const FLAGS: i32 = rustix::fs::OFlags::NOFOLLOW.union(rustix::fs::OFlags::NONBLOCK).bits().cast_signed();

/// The largest file that is read at once, in bytes: a description, and what stands around it.
const MAX_TAGGED: usize = MAX_DESCRIPTION + (1 << 20);

/// A file that nobody else can have written.
struct Opened {
    file: File,
    /// In bytes.
    size: u64,
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

fn open(path: &Path) -> io::Result<Opened> {
    let file = File::options().read(true).custom_flags(FLAGS).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.uid() != rustix::process::geteuid().as_raw() || about.mode() & 0o077 != 0 {
        return Err(io::Error::other("others may have written it"));
    }
    Ok(Opened { file, size: about.len() })
}
