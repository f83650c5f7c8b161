//! What the guard would say of a path, without a guest.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use super::entry::{Failure, Folder};
use super::root::{Root, real_path};
use super::tree::{Device, Last};
use super::{Files, FsPolicy, OTHER_DEVICE, OUTSIDE};
use crate::error::{Error, Kind};
use crate::policy::{Grant, GuestPath, Mode, NO_MATCH, NOT_NEEDED, Operation, PathPattern};
use crate::sandbox::Sibling;

/// Whether an operation on a path is granted, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// Whether it is.
    pub allowed: bool,
    /// Whether it is left to a person, in each call; without one it is refused.
    pub asked: bool,
    /// The rule, the mount's mode or whatever else decides.
    pub rule: String,
    /// The path behind all links, as the guest sees it; nothing where it is in no mount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_path: Option<String>,
    /// The same on the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_path: Option<PathBuf>,
    /// The URL of a request as it would be sent, without its query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// How the operator can change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Explanation {
    pub(in crate::sandbox) fn of_request(allowed: bool, rule: String, url: String, hint: Option<String>) -> Self {
        Explanation { allowed, asked: false, rule, real_path: None, host_path: None, url: Some(url), hint }
    }
}

/// Tells what the guard of files would say of an operation on a path, on the folders as they are now. It asks what a call
/// asks. Which files are witbox's own a grant does not say.
///
/// # Errors
/// When a mount's folder is not there, or one that is never mounted.
///
/// ```
/// use witbox::{Grant, Mount, Operation};
///
/// # fn main() -> Result<(), witbox::Error> {
/// let grant = Grant::default().mount(Mount::read_only("src", "/src".parse()?));
/// let explained = witbox::explain(&grant, Operation::Write, &"/src/lib.rs".parse()?)?;
/// assert!(!explained.allowed);
/// assert_eq!(explained.rule, "its mount is read-only");
/// # Ok(())
/// # }
/// ```
pub fn explain(grant: &Grant, operation: Operation, path: &GuestPath) -> Result<Explanation, Error> {
    let roots = Root::open_all(grant, &[]).map_err(Kind::Grant)?;
    let policy = Arc::new(FsPolicy::of(grant, &Files { roots, ..Files::default() }, Sibling::default()));
    let path = path.as_str();
    let Some(mount) = policy.mount(path) else {
        return Ok(Explanation {
            allowed: false,
            asked: false,
            rule: "it is in no mount".to_owned(),
            real_path: None,
            host_path: None,
            url: None,
            hint: Some("mount the folder that holds it".to_owned()),
        });
    };
    let root = mount.root.folder.try_clone().map_err(|error| Kind::Grant(error.to_string()))?;
    let folder = Folder { file: Arc::new(root), path: mount.guest.clone(), policy: policy.clone() };
    let below = below(&mount.guest, path);
    let found = folder.find(operation, if below.is_empty() { "." } else { below }, Last::Follow);
    let judged = found.and_then(|place| folder.judge(&[operation], &place).map(|_| place.path));
    let asked = matches!(&judged, Err(Failure::Refused(refusal)) if refusal.asks.is_some());
    let (allowed, real, rule) = match judged {
        Ok(real) => (true, real.clone(), policy.reason(operation, &real)),
        Err(Failure::Refused(refusal) | Failure::Full(refusal)) => (false, refusal.path, refusal.rule),
        Err(Failure::System(errno)) => (false, path.to_owned(), format!("the system refuses it: {errno}")),
    };
    let hint = if allowed { None } else { hint(operation, mount.mode, mount.device, &real, &rule) };
    let is_within = policy.mount(&real).is_some_and(|other| other.guest == mount.guest);
    let host = real_path(&mount.root.folder).filter(|_| is_within);
    let host_path = host.map(|host| match self::below(&mount.guest, &real) {
        "" => host,
        below => host.join(below),
    });
    Ok(Explanation { allowed, asked, rule, real_path: Some(real), host_path, url: None, hint })
}

fn below<'p>(mount: &str, path: &'p str) -> &'p str {
    path.strip_prefix(mount.trim_end_matches('/')).unwrap_or_default().trim_start_matches('/')
}

/// How to have it granted; nothing where no configuration would.
fn hint(operation: Operation, mode: Mode, device: Device, path: &str, rule: &str) -> Option<String> {
    if rule == OTHER_DEVICE {
        return matches!(device, Device::Only(_)).then(|| "write cross-devices = true in its mount".to_owned());
    }
    if rule == OUTSIDE {
        return Some("mount the folder that the link leads to, and use that path".to_owned());
    }
    if operation == Operation::Write && mode == Mode::ReadOnly {
        return Some("mount it with mode = \"rw\"".to_owned());
    }
    if rule == NOT_NEEDED {
        return Some("nothing in the configuration does: the component would have to say that it needs it".to_owned());
    }
    let place = match rule {
        rule if rule.starts_with(NO_MATCH) => "add a rule",
        rule if rule.starts_with("fs rule") => "put a rule before the one that decides",
        _ => return None,
    };
    // A string of JSON is one of TOML.
    let pattern = serde_json::Value::from(PathPattern::literal(path));
    Some(format!("{place}: allow = [\"{operation}\"], paths = [{pattern}]"))
}
