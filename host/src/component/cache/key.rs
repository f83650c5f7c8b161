//! The key under which the files of a cache are authenticated.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::{TEMPORARY, open};

/// The key's file, and how many bytes it has.
const FILE: &str = "key";
const BYTES: usize = 32;
/// The characters of a tag: HMAC-SHA256 (RFC 2104) in hexadecimal.
pub(super) const TAG_CHARS: usize = 64;

pub(super) struct Key(Hmac<Sha256>);

impl Key {
    /// The key of a folder, which is made where there is none.
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let path = folder.join(FILE);
        match Key::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            read => return read,
        }
        let mut bytes = [0; BYTES];
        fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder)?;
        file.write_all(&bytes)?;
        file.as_file().sync_all()?;
        // Whoever comes first decides.
        match file.persist_noclobber(&path) {
            Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
            _ => Key::read(&path),
        }
    }

    fn read(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        open(path)?.take(BYTES as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() != BYTES {
            return Err(io::Error::other(format!("{} is no key; remove it", path.display())));
        }
        Ok(Key(Hmac::new_from_slice(&bytes).map_err(io::Error::other)?))
    }

    fn of_file(&self, file: &Path) -> Hmac<Sha256> {
        let name = file.file_name().unwrap_or_default().as_encoded_bytes();
        self.0.clone().chain_update((name.len() as u64).to_le_bytes()).chain_update(name)
    }

    /// The tag of a file's content. It is good under that file's name only.
    pub(super) fn tag(&self, file: &Path, content: &[u8]) -> String {
        hex::encode(self.of_file(file).chain_update(content).finalize().into_bytes())
    }

    pub(super) fn verify(&self, file: &Path, content: &[u8], tag: &[u8]) -> io::Result<()> {
        verify(self.of_file(file).chain_update(content), tag)
    }

    /// The same of content of any size.
    pub(super) fn verify_all(&self, file: &Path, content: &mut impl Read, tag: &[u8]) -> io::Result<()> {
        let mut mac = self.of_file(file);
        let mut buffer = vec![0; 256 << 10];
        loop {
            let read = content.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            mac.update(buffer.get(..read).unwrap_or_default());
        }
        verify(mac, tag)
    }
}

fn verify(mac: Hmac<Sha256>, tag: &[u8]) -> io::Result<()> {
    let wrong = || io::Error::other("it was changed, or made under another key");
    mac.verify_slice(&hex::decode(tag).map_err(|_| wrong())?).map_err(|_| wrong())
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}
