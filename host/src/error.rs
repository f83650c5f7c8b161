//! One opaque error for the crate's edge.

use std::path::PathBuf;

use crate::author::PackError;
use crate::component::ComponentError;
use crate::config::{Diagnostics, UnitError};
use crate::policy::{OriginError, PathError, PatternError, SecretError};
use crate::provider::{DialectError, MessageError};

/// Anything that keeps witbox from starting: a component, a toolset, a configuration or a message that cannot be used.
///
/// What goes wrong within a call is never an error but a [`Reply`](crate::Reply) with its [`Status`](crate::Status).
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Kind>);

#[cfg(feature = "tiktoken")]
const TIKTOKEN: &str = ", and there are `o200k_base`, `cl100k_base` and the models of OpenAI's";
#[cfg(not(feature = "tiktoken"))]
const TIKTOKEN: &str = ", and others only in a build with the feature `tiktoken`";

#[derive(Debug, thiserror::Error)]
pub(crate) enum Kind {
    #[error(transparent)]
    Component(#[from] ComponentError),
    #[error(transparent)]
    Config(#[from] Diagnostics),
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Dialect(#[from] DialectError),
    #[error("toolset `{name}`: {reason}")]
    Toolset { name: String, reason: String },
    #[error(transparent)]
    Pack(#[from] PackError),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error(transparent)]
    Origin(#[from] OriginError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Unit(#[from] UnitError),
    #[error("{0}")]
    Grant(String),
    #[error("compiled code cannot be kept in {}: {reason}", folder.display())]
    Cache { folder: PathBuf, reason: String },
    #[error("{} cannot be used as a workspace: {reason}", folder.display())]
    Workspace { folder: PathBuf, reason: String },
    #[error("{0:?} is no name of a session: expected 1 to 64 letters, digits, `-`, `_` and `.`, and no `.` first")]
    Session(String),
    #[error("no tokenizer is named `{0}`; there is `four-bytes`{TIKTOKEN}")]
    Tokenizer(String),
    #[error("its compiled code cannot be loaded: {0}")]
    Code(String),
    #[error("its imports do not fit this host: {0}")]
    Link(String),
    #[error("the client and this server do not understand each other: {0}")]
    Serve(String),
    #[error("client `{name}`: {reason}")]
    Client { name: String, reason: String },
    #[error("nobody can be served over HTTP: {0}")]
    Listen(String),
    #[error("the engine does not start on this machine: {0}")]
    Engine(String),
}

impl Error {
    /// A component that whoever compiles it refuses, and why.
    pub fn refused_component(reason: &str) -> Self {
        Kind::Component(ComponentError::Refused(reason.to_owned())).into()
    }

    /// Whether bytes that were given as a component are none, or one that witbox cannot use.
    pub fn is_component(&self) -> bool {
        matches!(*self.0, Kind::Component(_))
    }

    /// Whether a configuration has mistakes; [`diagnostics`](Self::diagnostics) lists them.
    pub fn is_config(&self) -> bool {
        matches!(*self.0, Kind::Config(_))
    }

    /// Whether a message is of no known provider, or malformed.
    pub fn is_message(&self) -> bool {
        matches!(*self.0, Kind::Message(_))
    }

    /// Whether a toolset cannot start: its name, its mounts or its tools' names.
    pub fn is_toolset(&self) -> bool {
        matches!(*self.0, Kind::Toolset { .. })
    }

    /// Whether a dialect is none, or cannot hold a tool.
    pub fn is_dialect(&self) -> bool {
        matches!(*self.0, Kind::Dialect(_))
    }

    /// Whether what a grant names is not there, such as the folder of a mount.
    pub fn is_grant(&self) -> bool {
        matches!(*self.0, Kind::Grant(_))
    }

    /// Whether a component could not be packed: its WIT, or what the compiler made.
    pub fn is_pack(&self) -> bool {
        matches!(*self.0, Kind::Pack(_))
    }

    /// Whether a text that should be a guest's path, a pattern of them, an origin, a quantity or the name of a tokenizer is none.
    pub fn is_syntax(&self) -> bool {
        matches!(*self.0, Kind::Path(_) | Kind::Pattern(_) | Kind::Origin(_) | Kind::Unit(_) | Kind::Tokenizer(_))
    }

    /// Whether a client, or nobody at all, could be served.
    pub fn is_serve(&self) -> bool {
        matches!(*self.0, Kind::Serve(_) | Kind::Listen(_) | Kind::Client { .. })
    }

    /// Whether a folder cannot be used as a cache of compiled code.
    pub fn is_cache(&self) -> bool {
        matches!(*self.0, Kind::Cache { .. })
    }

    /// Whether a folder cannot be used as a workspace, or a name is none of a session.
    pub fn is_workspace(&self) -> bool {
        matches!(*self.0, Kind::Workspace { .. } | Kind::Session(_))
    }

    /// Whether a secret is none, or could not be sent.
    pub fn is_secret(&self) -> bool {
        matches!(*self.0, Kind::Secret(_))
    }

    /// Every mistake of a configuration, in the order of the file; empty for other errors.
    pub fn diagnostics(&self) -> &[crate::config::Diagnostic] {
        match &*self.0 {
            Kind::Config(diagnostics) => diagnostics.as_slice(),
            _ => &[],
        }
    }
}

impl<T: Into<Kind>> From<T> for Error {
    fn from(kind: T) -> Self {
        Error(Box::new(kind.into()))
    }
}
