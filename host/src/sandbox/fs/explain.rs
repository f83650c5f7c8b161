//! What the guard would say of a path, without a guest.

use std::fs::File;
use std::path::PathBuf;

use rustix::fs::{AtFlags, FileType, statat};
use serde::Serialize;

use super::tree::{Last, NoPlace, find};
use super::{FsPolicy, OTHER_DEVICE, Shared};
use crate::error::{Error, Kind};
use crate::policy::{Grant, GuestPath, Mode, NO_MATCH, Operation};

/// Whether an operation on a path is granted, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// Whether it is.
    pub allowed: bool,
    /// The rule or the mount's mode that decides.
    pub rule: String,
    /// The path behind all links, as the guest sees it; nothing where it is in no mount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_path: Option<String>,
    /// The same on the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_path: Option<PathBuf>,
    /// How the operator can change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Tells what the guard of files would say of an operation on a path, on the folders as they are now.
///
/// # Errors
/// When a mount's folder is not there.
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
    let policy = FsPolicy::of(grant, &Shared::default()).map_err(Kind::Grant)?;
    let path = path.as_str();
    let Some(mount) = policy.mount(path) else {
        return Ok(Explanation {
            allowed: false,
            rule: "it is in no mount".to_owned(),
            real_path: None,
            host_path: None,
            hint: Some("mount the folder that holds it".to_owned()),
        });
    };
    let folder = File::open(&mount.host).map_err(|error| Kind::Grant(format!("{}: {error}", mount.host.display())))?;
    let below = path.strip_prefix(mount.guest.trim_end_matches('/')).unwrap_or_default().trim_start_matches('/');
    let found = find(&folder, &mount.guest, if below.is_empty() { "." } else { below }, Last::Follow, mount.device);
    let (real, is_folder, leads_out) = match &found {
        Err(NoPlace { path, errno: rustix::io::Errno::XDEV }) => {
            return Ok(Explanation {
                allowed: false,
                rule: OTHER_DEVICE.to_owned(),
                real_path: Some(path.clone()),
                host_path: None,
                hint: Some("write cross-devices = true in its mount".to_owned()),
            });
        }
        Ok(place) => {
            let stat = statat(&place.parent, &place.name, AtFlags::SYMLINK_NOFOLLOW);
            let kind = stat.map(|stat| FileType::from_raw_mode(stat.st_mode));
            (place.path.clone(), kind == Ok(FileType::Directory), false)
        }
        Err(NoPlace { path, errno }) => (path.clone(), false, *errno == rustix::io::Errno::PERM),
    };
    if leads_out {
        return Ok(Explanation {
            allowed: false,
            rule: "a link on the way leads out of the mount".to_owned(),
            real_path: Some(real),
            host_path: None,
            hint: Some("mount the folder that the link leads to, and use that path".to_owned()),
        });
    }
    let checked = match operation {
        Operation::Read if is_folder => policy.check_folder(&real),
        _ => policy.check(operation, &real),
    };
    let below = real.strip_prefix(mount.guest.trim_end_matches('/')).unwrap_or_default().trim_start_matches('/');
    let host_path = if below.is_empty() { mount.host.clone() } else { mount.host.join(below) };
    let hint = checked.as_ref().err().map(|refusal| match (operation, mount.mode) {
        (Operation::Write, Mode::ReadOnly) => "mount it with mode = \"rw\"".to_owned(),
        _ => {
            let place = if refusal.rule == NO_MATCH { "add a rule" } else { "put a rule before the one that decides" };
            format!("{place}: allow = [\"{operation}\"], paths = [\"{real}\"]")
        }
    });
    Ok(Explanation {
        allowed: checked.is_ok(),
        rule: checked.err().map_or_else(|| policy.reason(operation, &real), |refusal| refusal.rule),
        real_path: Some(real),
        host_path: Some(host_path),
        hint,
    })
}
