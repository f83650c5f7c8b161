//! The guard between a guest and its mounts: decides on the real object, not on the spelling of a path.
//!
//! Everything that takes a path is done here, beneath the folder that the guest holds, one name at a time. What is
//! done with an open descriptor is left to wasmtime-wasi: it keeps what it was opened for.

#[cfg(not(target_os = "linux"))]
compile_error!("the guard of files asks Linux for what it needs; witbox has none for other systems yet");

mod entry;
mod explain;
mod guarded;
mod listing;
mod protect;
mod quota;
mod root;
mod streams;
mod tree;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use explain::{Explanation, explain};
pub(crate) use guarded::{Guarded, GuardedView};
pub(crate) use listing::list_in_parts;
pub(crate) use protect::Protected;
use quota::{Growing, Quota};
pub(crate) use root::Root;
use root::real_path;
use streams::Streams;
use tree::{Device, Place};

use rustix::fs::{Stat, fstat};

use super::ask::Person;
use super::clock::Clock;
use super::denials::Denials;
use super::run::Job;
use super::siblings::Sibling;
use crate::policy::{Decision, Effect, FsRule, Grant, Mode, NO_MATCH, NOT_GRANTED, NOT_NEEDED, Operation, Trail};
use crate::reply::Denial;
use entry::Failure;

/// What a toolset may do with files, as the guard asks for it.
#[derive(Debug)]
pub(super) struct FsPolicy {
    mounts: Vec<MountPolicy>,
    rules: Vec<FsRule>,
    protected: Arc<Protected>,
    /// Whether the component says to need reading and writing; nothing where it does not say.
    needs: [Option<bool>; 2],
    /// What a person said in this call, and why where it was no.
    answers: Mutex<Answers>,
    sibling: Sibling,
}

type Answers = HashMap<(Operation, String), Result<(), &'static str>>;

#[derive(Debug)]
struct MountPolicy {
    guest: String,
    mode: Mode,
    root: Arc<Root>,
    device: Device,
    makes_links: bool,
    quota: Quota,
}

impl MountPolicy {
    /// Whether all that a guest can reach in it is on a local file system.
    fn is_local(&self) -> bool {
        self.root.is_local && matches!(self.device, Device::Only(_))
    }
}

/// The most files and folders that a call holds open. Each is a descriptor of the host, which has few for all its calls:
/// 1,024 with most systems.
const MAX_OPEN: usize = 128;
/// The most questions that one call may ask.
const MAX_QUESTIONS: usize = 32;
/// What refuses a way to another file system.
const OTHER_DEVICE: &str = "it is on another file system than its mount";
/// What refuses what nobody but witbox may see.
const OWN: &str = "it is witbox's own: a secret, or compiled code";
/// What refuses a way out of a mount, or of the folder that a guest holds.
const OUTSIDE: &str = "it leads out of the folder that the guest holds";

/// What the guard needs from all calls of a toolset together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    pub(crate) protected: Arc<Protected>,
    /// Of the mounts, in their order.
    pub(crate) roots: Vec<Arc<Root>>,
}

/// What the guard knows of one call.
#[derive(Debug)]
pub(super) struct Guard {
    policy: Arc<FsPolicy>,
    /// Whom a rule may leave something to; nothing where nobody can be asked.
    person: Option<Person>,
    clock: Clock,
    denials: Denials,
    /// The handles of what the guest holds open.
    open: HashSet<u32>,
    /// The real path of each folder that the guest holds, by its handle.
    folders: HashMap<u32, String>,
    /// Which of them are the folders of mounts themselves.
    tops: HashSet<u32>,
    /// Each file that the guest holds and may write to, by its handle.
    files: HashMap<u32, Growing>,
    /// How many streams of files, and listings, the guest holds.
    streams: Streams,
}

impl Guard {
    pub(super) fn new(job: &Job<'_>, denials: Denials) -> Self {
        let policy = FsPolicy::of(job.grant, &job.shared.files, job.sibling.clone());
        Guard {
            policy: Arc::new(policy),
            person: job.person.clone(),
            clock: job.clock.clone(),
            denials,
            open: HashSet::new(),
            folders: HashMap::new(),
            tops: HashSet::new(),
            files: HashMap::new(),
            streams: Streams::default(),
        }
    }

    /// Has a person decide, and keeps the answer for the rest of the call.
    ///
    /// # Errors
    /// The refusal, where it is one.
    async fn ask(&self, operation: Operation, refusal: Refusal) -> Result<(), Refusal> {
        let answer = match &self.person {
            _ if self.policy.answers().len() >= MAX_QUESTIONS => Err("it has asked for too much in one call"),
            Some(person) => {
                let answer = person.decide(&self.clock, operation, &refusal.path, &refusal.rule).await;
                self.policy.answers().insert((operation, refusal.path.clone()), answer);
                answer
            }
            None => Err("nobody can be asked; to grant it, put a rule with allow before this one"),
        };
        answer.map_err(|reason| Refusal { rule: format!("{}; {reason}", refusal.rule), asks: None, ..refusal })
    }
}

/// What was refused, as the operator reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    operation: &'static str,
    path: String,
    rule: String,
    /// The operation that a person may still allow.
    asks: Option<Operation>,
}

impl Refusal {
    fn new(operation: &'static str, path: String, rule: impl Into<String>) -> Self {
        Refusal { operation, path, rule: rule.into(), asks: None }
    }
}

impl From<Refusal> for Denial {
    fn from(refusal: Refusal) -> Self {
        Denial::new(refusal.operation, refusal.path, &refusal.rule)
    }
}

impl FsPolicy {
    fn of(grant: &Grant, files: &Files, sibling: Sibling) -> Self {
        let mounts = grant.mounts().iter().zip(&files.roots).map(|(mount, root)| MountPolicy {
            guest: mount.guest.as_str().to_owned(),
            mode: mount.mode,
            root: root.clone(),
            device: if mount.crosses_devices { Device::From(root.device) } else { Device::Only(root.device) },
            makes_links: mount.makes_links,
            quota: Quota { max_bytes: mount.max_bytes, max_files: mount.max_files, added: root.added.clone() },
        });
        FsPolicy {
            mounts: mounts.collect(),
            rules: grant.fs_rules().to_vec(),
            protected: files.protected.clone(),
            needs: [grant.needs_files(Operation::Read), grant.needs_files(Operation::Write)],
            answers: Mutex::default(),
            sibling,
        }
    }

    /// Whether an operation on the object of a real path is granted.
    fn check(&self, operation: Operation, path: &str) -> Result<(), Refusal> {
        let refusal = |rule: String| Refusal::new(operation.as_str(), path.to_owned(), rule);
        let needed = self.needed(operation);
        if needed == Some(false) {
            return Err(refusal(NOT_NEEDED.to_owned()));
        }
        let told = |rule: &str| if needed.is_some() { format!("{rule}; {NOT_GRANTED}") } else { rule.to_owned() };
        if operation == Operation::Write && self.mount(path).is_some_and(|mount| mount.mode == Mode::ReadOnly) {
            return Err(refusal(told("its mount is read-only")));
        }
        if self.rules.is_empty() {
            return Ok(());
        }
        match self.trail(path).decide(operation) {
            Decision { effect: Effect::Allow, .. } => Ok(()),
            Decision { effect: Effect::Deny, rule } if rule == NO_MATCH => Err(refusal(told(NO_MATCH))),
            Decision { effect: Effect::Deny, rule } => Err(refusal(rule)),
            Decision { effect: Effect::Ask, rule } => match self.answers().get(&(operation, path.to_owned())) {
                Some(Ok(())) => Ok(()),
                Some(Err(reason)) => Err(refusal(format!("{rule}; {reason}"))),
                None => Err(Refusal { asks: Some(operation), ..refusal(rule) }),
            },
        }
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn may(&self, operation: Operation, path: &str) -> bool {
        self.check(operation, path).is_ok()
    }

    /// Whether what is at a place may be changed at all, whatever the rules say: neither the file, if it is witbox's own,
    /// nor what the name is of, if it is on the way to that or to a mount.
    fn check_own(&self, place: &Place, stat: Option<&Stat>) -> Result<(), Failure> {
        let is_file = stat.is_some_and(|stat| self.protected.is_file(stat));
        if is_file || self.protected.is_name(&fstat(&place.parent)?, &place.name) {
            let rule = "it is witbox's own, or on the way to that: a configuration, a component, a secret or a mount"
                .to_owned();
            return Err(Refusal::new("write", place.path.clone(), rule).into());
        }
        Ok(())
    }

    /// Whether what is at a place may be seen at all, whatever the rules say.
    fn check_hidden(&self, operation: Operation, place: &Place, stat: &Stat) -> Result<(), Failure> {
        if self.protected.is_hidden(stat, &place.parent, &place.name) {
            return Err(Refusal::new(operation.as_str(), place.path.clone(), OWN).into());
        }
        Ok(())
    }

    fn needed(&self, operation: Operation) -> Option<bool> {
        let [read, write] = self.needs;
        if operation == Operation::Read { read } else { write }
    }

    /// Whether no other call of the message writes to a name, and from then on none may.
    fn lease(&self, place: &Place) -> Result<(), Failure> {
        let folder = fstat(&place.parent)?;
        let leased = self.sibling.lease(((folder.st_dev, folder.st_ino), place.name.clone()));
        Ok(leased.map_err(|rule| Refusal::new(Operation::Write.as_str(), place.path.clone(), rule))?)
    }

    /// Whether a folder may be opened and listed, if only as the way to something below it.
    fn check_folder(&self, path: &str) -> Result<(), Refusal> {
        let trail = self.trail(path);
        // What is left to a person is theirs, whatever lies below.
        let is_asked = !self.rules.is_empty() && trail.decide(Operation::Read).effect == Effect::Ask;
        let may_lead = self.needed(Operation::Read) != Some(false) && !is_asked && trail.leads_on(Operation::Read);
        if may_lead { Ok(()) } else { self.check(Operation::Read, path) }
    }

    /// Whether a guest may pass a folder on its way: it may do something there, or somewhere below.
    fn may_pass(&self, trail: &Trail<'_>) -> bool {
        self.may_follow(trail) || trail.leads_on(Operation::Read) || trail.leads_on(Operation::Write)
    }

    /// Whether a guest may follow a link: it may do something with the link. Below a link there is nothing.
    fn may_follow(&self, trail: &Trail<'_>) -> bool {
        self.rules.is_empty() || trail.may_allow(Operation::Read) || trail.may_allow(Operation::Write)
    }

    /// Whether a name is shown in its folder: what it is of may be read, or may be allowed to be.
    fn may_see(&self, path: &str) -> bool {
        let may_read = self.rules.is_empty() || self.trail(path).may_allow(Operation::Read);
        may_read && self.needed(Operation::Read) != Some(false)
    }

    /// What the rules say along a path.
    fn trail(&self, path: &str) -> Trail<'_> {
        Trail::at(&self.rules, path)
    }

    /// Whether no rule tells apart what is at a path and below it: all of it may be read and written.
    fn is_uniform(&self, path: &str) -> bool {
        let trail = self.trail(path);
        self.rules.is_empty() || (trail.allows_all(Operation::Read) && trail.allows_all(Operation::Write))
    }

    /// Whether an operation is granted everywhere, so that another name for something is no way around anything.
    fn is_everywhere(&self, operation: Operation) -> bool {
        self.mounts.iter().all(|mount| {
            let by_mode = operation == Operation::Read || mount.mode == Mode::ReadWrite;
            by_mode && (self.rules.is_empty() || self.trail(&mount.guest).allows_all(operation))
        })
    }

    /// Why an operation is granted.
    fn reason(&self, operation: Operation, path: &str) -> String {
        match self.rules.is_empty() {
            true => "its mount grants it, and there are no rules".to_owned(),
            false => match self.trail(path).decide(operation) {
                decision if decision.effect == Effect::Allow => decision.rule,
                _ => "it is a folder on the way to something that may be read, and shows only that way".to_owned(),
            },
        }
    }

    /// A file of the mount that a path is in, as it may grow.
    fn growing(&self, path: &str) -> Option<Growing> {
        Some(Growing { path: path.to_owned(), quota: self.mount(path)?.quota.clone() })
    }

    /// The mount that a path is in. Mounts do not overlap.
    fn mount(&self, path: &str) -> Option<&MountPolicy> {
        let is_within = |mount: &&MountPolicy| {
            let rest = path.strip_prefix(mount.guest.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.mounts.iter().find(is_within)
    }

    /// The real path of an open folder, as the guest sees it. Somebody may have renamed it, or a folder above it, since it
    /// was opened at the path that is `known`. Nothing where it lies in no mount any more.
    fn current_path(&self, folder: &File, known: String) -> Option<String> {
        self.mounts.iter().find_map(|mount| {
            // Without /proc what is known must do.
            let Some(root) = real_path(&mount.root.folder) else { return Some(known.clone()) };
            let path = real_path(folder)?;
            let below = path.strip_prefix(root).ok()?.to_str()?;
            Some(if below.is_empty() { mount.guest.clone() } else { tree::join(&mount.guest, below) })
        })
    }
}
