//! What a toolset was granted.

mod address;
mod limits;
mod origin;
mod path;
mod pattern;
mod request;
mod rules;
mod secret;

use crate::component::Needs;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

pub(crate) use address::{is_never, is_public};
pub use limits::Limits;
pub use origin::Origin;
pub(crate) use origin::OriginError;
pub use path::GuestPath;
pub(crate) use path::PathError;
pub use pattern::PathPattern;
pub(crate) use pattern::PatternError;
pub use request::HttpRule;
pub(crate) use request::{Target, Ungranted, allowing};
pub(crate) use rules::{Decision, NO_MATCH, Trail, shadowed};
pub use rules::{Effect, FsRule, Operation};
pub use secret::Secret;
pub(crate) use secret::SecretError;

/// What the operator lets a toolset do. The default grants nothing: no files, network, environment variables, arguments
/// or standard input.
///
/// ```
/// use witbox::{Grant, Limits, Mount};
///
/// # fn main() -> Result<(), witbox::Error> {
/// let grant = Grant::default()
///     .mount(Mount::read_only("docs", "/docs".parse()?))
///     .env("UNITS", "metric")
///     .limits(Limits { memory: 64 << 20, ..Limits::default() });
/// assert_eq!(grant.mounts().len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grant {
    mounts: Vec<Mount>,
    fs: Vec<FsRule>,
    http: Vec<HttpRule>,
    env: Vec<(String, String)>,
    secrets: Vec<Secret>,
    /// What the component says that it must have; nothing where it does not say.
    needs: Option<Needs>,
    limits: Limits,
}

/// A folder of the host that a guest sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub(crate) host: PathBuf,
    pub(crate) guest: GuestPath,
    pub(crate) mode: Mode,
    pub(crate) crosses_devices: bool,
    pub(crate) makes_links: bool,
    /// Whether clients of a server may read it too.
    pub(crate) is_shown: bool,
    /// What all calls of a host together may add.
    pub(crate) max_bytes: u64,
    pub(crate) max_files: u64,
}

/// What a mount lets a guest do, whatever else is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Open, list, stat and read.
    ReadOnly,
    /// Change, create and delete too.
    ReadWrite,
}

impl Grant {
    /// Adds a folder.
    #[must_use]
    pub fn mount(mut self, mount: Mount) -> Self {
        self.mounts.push(mount);
        self
    }

    /// Adds a rule for files. The first rule that matches decides, and no match is a denial. Without any rule the mounts'
    /// modes decide alone; they are a ceiling in any case.
    #[must_use]
    pub fn fs(mut self, rule: FsRule) -> Self {
        self.fs.push(rule);
        self
    }

    /// Adds requests that may be sent. Without any there is no network.
    #[must_use]
    pub fn http(mut self, rule: HttpRule) -> Self {
        self.http.push(rule);
        self
    }

    /// Adds a secret. The guest does not see it, unless it is [exposed](Secret::exposed).
    #[must_use]
    pub fn secret(mut self, secret: Secret) -> Self {
        self.secrets.push(secret);
        self
    }

    /// Adds an environment variable. The host's own are never passed on.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets the limits of each call.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The folders, in the order in which the guest sees them.
    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    pub(crate) fn mounts_mut(&mut self) -> &mut [Mount] {
        &mut self.mounts
    }

    /// The rules for files, in their order.
    pub fn fs_rules(&self) -> &[FsRule] {
        &self.fs
    }

    /// The requests that may be sent.
    pub fn http_rules(&self) -> &[HttpRule] {
        &self.http
    }

    /// The secrets that may be spent.
    pub fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.mounts.iter().any(|mount| mount.mode == Mode::ReadWrite) || self.http.iter().any(|rule| !rule.only_reads())
    }

    /// The guest's environment: what is written, and the secrets that are exposed.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, &str)> {
        let written = self.env.iter().map(|(name, value)| (name.clone(), value.as_str()));
        written.chain(self.secrets.iter().filter_map(Secret::variable))
    }

    pub(crate) fn call_limits(&self) -> &Limits {
        &self.limits
    }

    /// The grant by which clients of a server read the mounts that they are shown: these alone, and nothing else.
    pub(crate) fn of_shown(&self, limits: Limits) -> Self {
        let shown = self.mounts.iter().filter(|mount| mount.is_shown);
        let mounts = shown.map(|mount| Mount { mode: Mode::ReadOnly, ..mount.clone() }).collect();
        let limits = Limits { timeout: self.limits.timeout, ..limits };
        Grant { mounts, fs: self.fs.clone(), limits, ..Grant::default() }
    }

    /// The grant for a component that says what it needs: of a kind that it does not need, nothing is granted.
    pub(crate) fn within(self, needs: Option<&Needs>) -> Self {
        let needed = |secret: &Secret| match needs {
            Some(needs) => needs.secrets.iter().any(|name| name == secret.name()),
            None => true,
        };
        let secrets = self.secrets.iter().filter(|secret| needed(secret)).cloned().collect();
        Grant { secrets, needs: needs.cloned(), ..self }
    }

    /// Whether the component needs an operation on files; nothing where it does not say.
    pub(crate) fn needs_files(&self, operation: Operation) -> Option<bool> {
        self.needs.as_ref().map(|needs| match operation {
            Operation::Read => needs.read,
            Operation::Write => needs.write,
        })
    }

    /// Whether the component needs the network; nothing where it does not say.
    pub(crate) fn needs_network(&self) -> Option<bool> {
        self.needs.as_ref().map(|needs| !needs.origins.is_empty())
    }

    /// Where what the component needs and what is granted differ.
    pub(crate) fn differences(&self, needs: &Needs) -> Vec<String> {
        let mut told = Vec::new();
        let mut tell = |granted: bool, needed: bool, what: &str| match (granted, needed) {
            (true, false) => told.push(format!("{what}: {NOT_NEEDED}")),
            (false, true) => told.push(format!("{what}: {NOT_GRANTED}")),
            _ => {}
        };
        let is_writable = self.mounts.iter().any(|mount| mount.mode == Mode::ReadWrite);
        tell(!self.mounts.is_empty(), needs.read || needs.write, "files");
        tell(is_writable, needs.write, "writing files");
        tell(!self.http.is_empty(), !needs.origins.is_empty(), "requests");
        for origin in needs.origins.iter().filter(|_| !self.http.is_empty()) {
            let Ok(needed) = Origin::parse(origin) else { continue };
            tell(self.http.iter().any(|rule| rule.origin.includes(&needed)), true, &format!("requests to {origin}"));
        }
        for name in &needs.secrets {
            tell(self.secrets.iter().any(|secret| secret.name() == name), true, &format!("the secret `{name}`"));
        }
        for secret in &self.secrets {
            let name = secret.name();
            tell(true, needs.secrets.iter().any(|needed| needed == name), &format!("the secret `{name}`"));
        }
        told
    }

    /// Finds what keeps the grant from being used: a variable that is none, a folder that is not there, or two that
    /// overlap.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, value) in &self.env {
            check_variable(name, value).map_err(|error| error.to_string())?;
        }
        self.check_network()?;
        for pattern in self.fs.iter().flat_map(FsRule::patterns) {
            if !self.mounts.iter().any(|mount| pattern.may_match_within(mount.guest.as_str())) {
                return Err(format!("the pattern `{}` is outside of every mount", pattern.as_str()));
            }
        }
        let mut real: Vec<(&Mount, PathBuf)> = Vec::new();
        for mount in &self.mounts {
            let host = mount.host.canonicalize().map_err(|error| format!("mount {mount}: {error}"))?;
            if !host.is_dir() {
                return Err(format!("mount {mount}: not a folder"));
            }
            for (other, other_host) in &real {
                if mount.guest.overlaps(&other.guest) {
                    return Err(format!("mounts {other} and {mount} overlap in what the guest sees"));
                }
                if host.starts_with(other_host) || other_host.starts_with(&host) {
                    return Err(format!("mounts {other} and {mount} overlap on the host"));
                }
            }
            real.push((mount, host));
        }
        Ok(())
    }
}

/// What an operator granted of a kind that the component does not say to need, and so does not have.
pub(crate) const NOT_NEEDED: &str = "granted but not needed: its manifest does not speak of it";
/// What the component says to need of a kind that is not granted.
pub(crate) const NOT_GRANTED: &str = "needed but not granted";

impl Grant {
    fn check_network(&self) -> Result<(), String> {
        for rule in &self.http {
            match rule.origin.private_address() {
                Some(address) if is_never(address) => {
                    return Err(format!(
                        "http rule {rule}: {address} is never reached: clouds hand out credentials there"
                    ));
                }
                Some(address) if !rule.private => {
                    return Err(format!(
                        "http rule {rule}: {address} is no public address; grant it with private = true"
                    ));
                }
                _ => {}
            }
        }
        let mut names: HashSet<&str> = HashSet::new();
        let mut places = HashSet::new();
        let mut variables: HashSet<String> = self.env.iter().map(|(name, _)| name.clone()).collect();
        for secret in &self.secrets {
            let name = secret.name();
            if !names.insert(name) {
                return Err(format!("two secrets are named `{name}`"));
            }
            if let Some((variable, _)) = secret.variable()
                && !variables.insert(variable.clone())
            {
                return Err(format!("the secret `{name}` is exposed as {variable}, which is set already"));
            }
            let Some(spending) = secret.spending() else { continue };
            if !places.insert((spending.origin.to_string(), &spending.header)) {
                return Err(format!("the secret `{name}` takes the place of another: both are `{}`", spending.header));
            }
            let rules: Vec<&HttpRule> =
                self.http.iter().filter(|rule| rule.origin.includes(&spending.origin)).collect();
            if rules.is_empty() {
                return Err(format!("the secret `{name}` is for {}, which http does not grant", spending.origin));
            }
            if !spending.origin.is_encrypted() && !rules.iter().any(|rule| rule.private) {
                let origin = &spending.origin;
                return Err(format!("the secret `{name}` would be sent unencrypted to {origin}; use https"));
            }
        }
        Ok(())
    }
}

/// An environment variable that no program could read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no environment variable: its name must not be empty or hold `=`, and neither part a NUL")]
pub(crate) struct VariableError(String);

pub(crate) fn check_variable(name: &str, value: &str) -> Result<(), VariableError> {
    if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        return Err(VariableError(name.escape_debug().to_string()));
    }
    Ok(())
}

impl Mount {
    /// The path under which the guest sees it.
    pub fn guest(&self) -> &GuestPath {
        &self.guest
    }

    /// The folder on the host.
    pub fn host(&self) -> &Path {
        &self.host
    }

    /// Whether it may be changed at all.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// A folder that the guest may read. A relative `host` path starts at the process's current folder.
    pub fn read_only(host: impl AsRef<Path>, guest: GuestPath) -> Self {
        Mount {
            host: host.as_ref().to_owned(),
            guest,
            mode: Mode::ReadOnly,
            crosses_devices: false,
            makes_links: false,
            is_shown: false,
            max_bytes: 1 << 30,
            max_files: 10_000,
        }
    }

    /// A folder that the guest may read and change.
    pub fn read_write(host: impl AsRef<Path>, guest: GuestPath) -> Self {
        Mount { mode: Mode::ReadWrite, ..Mount::read_only(host, guest) }
    }
}

impl Mount {
    /// Bounds what all calls of a host together may add to it: bytes by which files grow (1 GiB where it is not said),
    /// and new files and folders (10,000). What they delete gives nothing back.
    #[must_use]
    pub fn quota(self, max_bytes: u64, max_files: u64) -> Self {
        Mount { max_bytes, max_files, ..self }
    }

    /// Has a server's clients list and read its files too, as far as the toolset's rules let its tools read them.
    #[must_use]
    pub fn shown(self) -> Self {
        Mount { is_shown: true, ..self }
    }

    /// Lets a guest make symbolic links, where it may write. The guest gains nothing by them, since they are followed under
    /// the same rules; but whoever else uses the folder follows them wherever they lead.
    #[must_use]
    pub fn making_links(self) -> Self {
        Mount { makes_links: true, ..self }
    }

    /// Lets a guest into folders of it that are other file systems, but for the kernel's own.
    #[must_use]
    pub fn crossing_devices(self) -> Self {
        Mount { crosses_devices: true, ..self }
    }
}

impl std::fmt::Display for Mount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` at `{}`", self.host.display(), self.guest)
    }
}
