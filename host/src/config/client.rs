//! Who may ask over HTTP.

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use crate::error::{Error, Kind};

/// The least and the most characters of a token. What is shorter can be tried out.
const LEAST: usize = 20;
const MOST: usize = 4_096;

/// One `[client.NAME]`. Its name is that of its session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientPlan {
    /// Its name.
    pub name: String,
    /// The file that holds its token.
    pub token_file: PathBuf,
    /// The toolsets that it may call; nothing for all of them.
    pub toolsets: Option<Vec<String>>,
}

impl ClientPlan {
    /// Reads its token. White space around it is none of it.
    ///
    /// # Errors
    /// An error that [`is_serve`](Error::is_serve) when there is none, when others than this user may read it, or when it is no token: 20 to
    /// 4,096 characters of ASCII without white space.
    pub fn token(&self) -> Result<String, Error> {
        let refuse = |reason: String| self.refuse(&reason);
        self.check_file()?;
        let mut text = String::new();
        let file = std::fs::File::open(&self.token_file).map_err(|error| refuse(error.to_string()))?;
        file.take(2 * MOST as u64).read_to_string(&mut text).map_err(|error| refuse(error.to_string()))?;
        self.token_in(&text)
    }

    /// The same, where somebody else has read the file.
    ///
    /// # Errors
    /// As [`token`](Self::token).
    pub fn token_of(&self, text: &str) -> Result<String, Error> {
        self.check_file()?;
        self.token_in(text)
    }

    fn check_file(&self) -> Result<(), Error> {
        let refuse = |reason: String| self.refuse(&reason);
        let about = std::fs::metadata(&self.token_file).map_err(|error| refuse(error.to_string()))?;
        if !about.is_file() {
            return Err(refuse("not a file".to_owned()));
        }
        if about.mode() & 0o077 != 0 {
            return Err(refuse("others may read it, or write to it; keep them out with chmod 600".to_owned()));
        }
        Ok(())
    }

    fn token_in(&self, text: &str) -> Result<String, Error> {
        let token = text.trim();
        if !(LEAST..=MOST).contains(&token.len()) || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let hint = "make one with `head -c 32 /dev/urandom | base64`";
            return Err(
                self.refuse(&format!("no token: {LEAST} to {MOST} characters of ASCII without white space; {hint}"))
            );
        }
        Ok(token.to_owned())
    }

    fn refuse(&self, reason: &str) -> Error {
        Kind::Client { name: self.name.clone(), reason: format!("{}: {reason}", self.token_file.display()) }.into()
    }
}
