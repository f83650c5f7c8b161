//! Results as files, named by what made them and what they hold.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::time::SystemTime;

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::Session;
use crate::own;
use crate::reply::Excerpt;

/// How much of the SHA-256 is in a name, in hexadecimal digits, where no other result has the same.
const SHORT: usize = 16;
/// What files are called while they are written.
pub(super) const TEMPORARY: &str = ".new-";

/// Writes a result, whatever its size. It is there as a whole, or not at all.
pub(crate) struct ResultWriter {
    session: Session,
    file: BufWriter<NamedTempFile>,
    hash: Sha256,
    excerpt: Excerpt,
}

/// A result that was written.
pub(crate) struct Stored {
    /// Its name in the folder of results.
    pub(crate) name: String,
    /// The hexadecimal SHA-256 of its bytes.
    pub(crate) sha256: String,
    /// When it was written, by the clock of its file system.
    pub(crate) modified: SystemTime,
    pub(crate) excerpt: Excerpt,
}

/// A result as people see it in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoredResult {
    /// Its session.
    pub session: String,
    /// Its name, in the session.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was written, or the same was written again.
    #[serde(skip)]
    pub modified: SystemTime,
}

impl Session {
    /// Begins a result.
    ///
    /// # Errors
    /// When no file can be made.
    pub(crate) fn write(&self) -> io::Result<ResultWriter> {
        let file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(&self.results);
        // Where it would be is the operator's to know.
        let file = file.map_err(|error| io::Error::from(error.kind()))?;
        // Tells whoever prunes that somebody writes it; where there are no locks it is not pruned.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        let file = BufWriter::with_capacity(64 << 10, file);
        Ok(ResultWriter { session: self.clone(), file, hash: Sha256::new(), excerpt: Excerpt::default() })
    }

    /// Its results, the newest first.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn results(&self) -> io::Result<Vec<StoredResult>> {
        let mut results = Vec::new();
        for file in fs::read_dir(&self.results)? {
            let file = file?;
            let name = file.file_name().to_string_lossy().into_owned();
            // Whoever prunes may be faster.
            let Some(about) = file.metadata().ok().filter(|_| !name.starts_with(TEMPORARY)) else { continue };
            let modified = about.modified()?;
            results.push(StoredResult { session: self.name.to_string(), name, bytes: about.len(), modified });
        }
        results.sort_by(|one, other| (other.modified, &one.name).cmp(&(one.modified, &other.name)));
        Ok(results)
    }

    /// Opens one of its results, by the name that the list gives it.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn open_result(&self, name: &str) -> io::Result<File> {
        if name.contains('/') || name.starts_with('.') {
            return Err(io::ErrorKind::NotFound.into());
        }
        // A pipe would keep whoever opens it waiting.
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let file = File::options().read(true).custom_flags(flags).open(self.results.join(name))?;
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(file)
    }
}

impl ResultWriter {
    /// How many bytes were written.
    pub(crate) fn bytes(&self) -> u64 {
        self.excerpt.bytes()
    }

    /// Gives the file its name: of the tool that made it, of what it holds, and of its kind. Where the same is there already it
    /// is as new as this one.
    ///
    /// # Errors
    /// When it cannot be written to its end.
    pub(crate) fn finish(mut self, tool: &str, kind: &str) -> io::Result<Stored> {
        self.excerpt.finish();
        let file = self.file.into_inner().map_err(|error| io::Error::from(error.error().kind()))?;
        let sha256 = hex::encode(self.hash.finalize());
        let bytes = self.excerpt.bytes();
        // Names of tools are of letters, digits, `-` and `_`.
        let names = [format!("{tool}-{}.{kind}", &sha256[..SHORT]), format!("{tool}-{sha256}.{kind}")];
        let [short, long] = &names;
        let is_same = |name: &String| holds(&self.session.results.join(name), bytes, &sha256);
        // Only what was made to will begin as another does.
        let name = match is_same(short)? {
            Same::Yes => short,
            Same::Absent => {
                file.persist(self.session.results.join(short)).map_err(|error| io::Error::from(error.error.kind()))?;
                short
            }
            Same::No => {
                file.persist(self.session.results.join(long)).map_err(|error| io::Error::from(error.error.kind()))?;
                long
            }
        };
        let modified = self.session.results.join(name).metadata()?.modified()?;
        Ok(Stored { name: name.clone(), sha256, modified, excerpt: self.excerpt })
    }
}

impl Write for ResultWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Where it would be is the operator's to know, here and below.
        let written = self.file.write(bytes).map_err(|error| io::Error::from(error.kind()))?;
        self.hash.update(&bytes[..written]);
        self.excerpt.see(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| io::Error::from(error.kind()))
    }
}

enum Same {
    Yes,
    No,
    Absent,
}

/// Whether a file holds these bytes; it is as new as they are then.
fn holds(path: &std::path::Path, bytes: u64, sha256: &str) -> io::Result<Same> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Same::Absent),
        Err(error) => return Err(error),
    };
    if file.metadata()?.size() != bytes {
        return Ok(Same::No);
    }
    let mut hash = Sha256::new();
    let mut piece = [0; 16 << 10];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            read => hash.update(&piece[..read]),
        }
    }
    if hex::encode(hash.finalize()) != sha256 {
        return Ok(Same::No);
    }
    own::renew(&file)?;
    Ok(Same::Yes)
}
