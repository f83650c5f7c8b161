//! Where the values of secrets come from.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::policy::{Origin, Secret};

/// The most bytes that are read of a file or a command.
const MAX_BYTES: u64 = 64 << 10;

/// One `[toolset.NAME.secret.SECRET]`, whose value has not been read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecretPlan {
    /// Its name.
    pub name: String,
    /// Where its value is.
    pub source: SecretSource,
    /// Where it is spent: the origin, the header, and the header's format; nothing where it is only exposed.
    pub spent: Option<(Origin, String, String)>,
    /// Whether it is handed to the guest.
    pub exposed: bool,
}

/// Where the value of a secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretSource {
    /// A variable of witbox's own environment.
    Variable(String),
    /// A file.
    File(PathBuf),
    /// What a command writes to its standard output: the program and its arguments.
    Command(Vec<String>),
}

impl SecretPlan {
    /// The file that holds it, if one does.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let file = if let SecretSource::File(file) = &self.source { Some(file.as_path()) } else { None };
        file.into_iter()
    }

    /// The files that its command consists of: whoever changes one decides what runs at the next start.
    pub(crate) fn programs(&self) -> impl Iterator<Item = PathBuf> {
        let command = if let SecretSource::Command(command) = &self.source { command.as_slice() } else { &[] };
        command.iter().map(PathBuf::from).filter(|file| file.is_file())
    }

    /// Reads the value. A line break at the end is none of it.
    ///
    /// # Errors
    /// When it is not there, or no secret.
    pub(crate) fn read(&self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Secret, String> {
        let refuse = |reason: String| format!("secret `{}`: {reason}", self.name);
        let value = match &self.source {
            SecretSource::Variable(name) => variable(name)
                .ok_or_else(|| refuse(format!("the environment variable {name} is not set, or no text")))?,
            SecretSource::File(file) => {
                let unreadable = |error: &dyn std::fmt::Display| refuse(format!("{}: {error}", file.display()));
                // A pipe would keep witbox waiting.
                if !std::fs::metadata(file).map_err(|error| unreadable(&error))?.is_file() {
                    return Err(unreadable(&"not a file"));
                }
                let opened = std::fs::File::open(file).map_err(|error| unreadable(&error))?;
                read(opened).map_err(|error| unreadable(&error))?
            }
            SecretSource::Command(command) => run(command).map_err(refuse)?,
        };
        let value = value.strip_suffix('\n').map_or(value.as_str(), |value| value.strip_suffix('\r').unwrap_or(value));
        let mut secret = Secret::new(&self.name, value).map_err(|error| error.to_string())?;
        if let Some((origin, header, format)) = &self.spent {
            secret = secret.spent_at(origin.clone(), header, format).map_err(|error| error.to_string())?;
        }
        Ok(if self.exposed { secret.exposed() } else { secret })
    }
}

fn read(from: impl std::io::Read) -> Result<String, String> {
    let mut text = String::new();
    from.take(MAX_BYTES).read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

/// What a command writes. It says itself, on standard error, what went wrong.
fn run(command: &[String]) -> Result<String, String> {
    let (program, arguments) = command.split_first().ok_or("its command is empty")?;
    let refuse = |error: std::io::Error| format!("{program}: {error}");
    // What this process reads may be somebody's protocol.
    let mut child =
        Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(refuse)?;
    let text = child.stdout.take().map(read).transpose();
    let status = child.wait().map_err(refuse)?;
    if !status.success() {
        return Err(format!("{program}: {status}"));
    }
    Ok(text?.unwrap_or_default())
}
