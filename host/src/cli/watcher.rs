//! Watches what a server was started from, in a process of its own: behind the wall, a file that takes another's place cannot be read.
//!
//! The process says, whenever something has changed, what all of it is now: the configuration, and every file that is not what it was
//! when the server started. What that means is for the server to find out.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};
use witbox::{Plan, Source};

use super::roles::{WATCHER, this_program};
use super::source::{MAX_CONFIG, plan_of, read_text};

/// How long nothing more must happen before it is looked at: whoever writes a file often writes it in parts, and several.
const SETTLED: Duration = Duration::from_millis(100);
/// How long that is waited for.
const UNSETTLED: Duration = Duration::from_secs(1);
/// How often it is looked at where nobody says that something has happened, as some file systems do not.
const AT_LEAST_EVERY: Duration = Duration::from_secs(10);
/// The same where nobody ever says.
const WITHOUT_EVENTS: Duration = Duration::from_secs(2);
/// By how much the clock of a file system may be behind.
const BEHIND: Duration = Duration::from_secs(1);

/// What is watched.
pub(super) struct Watched<'s> {
    /// The configuration with the text that is known of it, or a component.
    pub(super) file: &'s Path,
    pub(super) text: Option<&'s str>,
    /// The folder that says which components were agreed to.
    pub(super) agreements: Option<PathBuf>,
    /// When what is known was not read yet.
    pub(super) since: SystemTime,
}

/// The process, for as long as it is wanted.
pub(super) struct Watcher {
    _wanted: Arc<()>,
    /// Its end is that of the process.
    _input: ChildStdin,
}

/// What it says, until it is no longer wanted.
pub(super) struct Snapshots {
    said: BufReader<ChildStdout>,
    wanted: Weak<()>,
}

/// What everything is at a time.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// The configuration's text, or why it cannot be read; nothing where there is none.
    pub(super) config: Option<Result<String, String>>,
    /// The files that are not what they were at the start, and those that were not watched then.
    pub(super) files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Watched<'_> {
    /// Whether it is a file that can be looked at again.
    pub(super) fn is_watchable(&self) -> bool {
        let is_descriptor = ["/dev", "/proc"].iter().any(|folder| self.file.starts_with(folder));
        !is_descriptor && self.file.metadata().is_ok_and(|about| about.is_file())
    }

    /// Starts the process; before the wall, which lets none be started.
    pub(super) fn start(&self) -> io::Result<(Watcher, Snapshots)> {
        let since = self.since.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string();
        let known = self.text.map(digest).unwrap_or_default();
        let mut command = this_program(WATCHER);
        command.args([since, known]).arg(self.file).args(&self.agreements);
        // What a terminal sends to the server, such as an interrupt, the server answers.
        command.process_group(0);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        match (process.stdin.take(), process.stdout.take()) {
            (Some(input), Some(said)) => {
                let wanted = Arc::new(());
                let snapshots = Snapshots { said: BufReader::new(said), wanted: Arc::downgrade(&wanted) };
                Ok((Watcher { _wanted: wanted, _input: input }, snapshots))
            }
            _ => Err(io::Error::other("it has no pipes")),
        }
    }
}

impl Snapshots {
    /// Whether there are to be more.
    pub(super) fn are_wanted(&self) -> bool {
        self.wanted.strong_count() > 0
    }
}

fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

/// The process itself.
pub(super) fn watch() -> io::Result<()> {
    let mut arguments = std::env::args_os().skip(2);
    let mut next = || arguments.next().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput));
    let (since, known, file) = (text(next()?)?, text(next()?)?, PathBuf::from(next()?));
    let agreements = arguments.next().map(PathBuf::from);
    let since = Duration::from_nanos(since.parse().map_err(io::Error::other)?).saturating_sub(BEHIND);
    end_with_whoever_started_it()?;
    let mut view = View {
        config: (!known.is_empty()).then(|| file.clone()),
        files: BTreeSet::from([file]),
        known,
        agreements,
        since,
        seen: None,
        changed: BTreeSet::new(),
        most: Plan::new(Vec::new()).max_component,
    };
    let mut events = Events::new();
    let mut out = BufWriter::new(io::stdout().lock());
    let mut is_new = false;
    loop {
        is_new |= view.look();
        // What happened in a folder before it was watched is seen by looking again.
        if events.watch(&view.folders()) {
            continue;
        }
        if std::mem::take(&mut is_new) {
            view.snapshot().write(&mut out)?;
        }
        events.wait();
    }
}

fn text(argument: OsString) -> io::Result<String> {
    argument.into_string().map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Nothing is ever said to it, so that the end of its input is that of whoever started it.
fn end_with_whoever_started_it() -> io::Result<()> {
    std::thread::Builder::new().spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(0);
    })?;
    Ok(())
}

/// What it knows of what it watches.
struct View {
    config: Option<PathBuf>,
    /// The components, and the tokens of clients.
    files: BTreeSet<PathBuf>,
    /// The digest of the text that the server was started with.
    known: String,
    agreements: Option<PathBuf>,
    /// Since the beginning of time as files have it.
    since: Duration,
    seen: Option<Seen>,
    /// Since the server started.
    changed: BTreeSet<PathBuf>,
    /// The most that is read of a file, in bytes.
    most: u64,
}

/// What was there when it was last looked at.
#[derive(PartialEq, Eq)]
struct Seen {
    config: Option<Result<String, String>>,
    files: BTreeMap<PathBuf, Option<Stamp>>,
    agreements: BTreeMap<OsString, Stamp>,
}

/// What tells that a file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    /// The kernel's alone to set.
    changed: (i64, i64),
}

impl Stamp {
    fn of(about: &fs::Metadata) -> Self {
        Stamp {
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }

    fn is_since(&self, time: Duration) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let changed = Duration::new(seconds.try_into().unwrap_or_default(), nanoseconds.try_into().unwrap_or_default());
        changed >= time
    }
}

impl View {
    /// Looks at everything. Says whether something is not as it was.
    fn look(&mut self) -> bool {
        let config =
            self.config.as_ref().map(|config| read_text(config, MAX_CONFIG).map_err(|error| format!("{error:#}")));
        if let (Some(file), Some(Ok(text))) = (&self.config, &config)
            && let Ok(plan) = plan_of(text, file)
        {
            self.files = files(&plan).collect();
            self.most = plan.max_component;
        }
        let stamps = self.files.iter().map(|file| (file.clone(), file.metadata().ok().as_ref().map(Stamp::of)));
        let seen = Seen { files: stamps.collect(), agreements: self.agreements(), config };
        let is_first = self.seen.is_none();
        let is_known = match &seen.config {
            None => true,
            Some(Ok(text)) => digest(text) == self.known,
            Some(Err(_)) => false,
        };
        let mut is_new = !is_known;
        match &self.seen {
            Some(before) => {
                is_new = *before != seen;
                let others = seen.files.iter().filter(|(file, stamp)| before.files.get(*file) != Some(*stamp));
                self.changed.extend(others.map(|(file, _)| file.clone()));
            }
            None => {
                let is_changed =
                    |stamp: &Option<Stamp>| !is_known || stamp.is_some_and(|stamp| stamp.is_since(self.since));
                let others = seen.files.iter().filter(|(_, stamp)| is_changed(stamp));
                self.changed.extend(others.map(|(file, _)| file.clone()));
            }
        }
        self.seen = Some(seen);
        is_new || (is_first && !self.changed.is_empty())
    }

    fn agreements(&self) -> BTreeMap<OsString, Stamp> {
        let all = self.agreements.as_ref().and_then(|folder| fs::read_dir(folder).ok());
        let all = all.into_iter().flatten().flatten();
        all.filter_map(|file| Some((file.file_name(), Stamp::of(&file.metadata().ok()?)))).collect()
    }

    /// Where something happens when one of them changes: in their folders, and in those that links lead to.
    fn folders(&self) -> BTreeSet<PathBuf> {
        let files = self.config.iter().chain(&self.files);
        let real = files.clone().filter_map(|file| file.canonicalize().ok());
        let paths = files.cloned().chain(real).filter_map(|file| Some(file.parent()?.to_owned()));
        paths.chain(self.agreements.clone()).filter_map(|folder| that_is_there(&folder)).collect()
    }

    fn snapshot(&self) -> Snapshot {
        let config = self.seen.as_ref().and_then(|seen| seen.config.clone());
        // What cannot be read is as good as not there.
        let files = self.changed.iter().filter(|file| self.files.contains(*file));
        Snapshot { config, files: files.filter_map(|file| Some((file.clone(), read(file, self.most).ok()?))).collect() }
    }
}

/// The folder, or the nearest above it that is there.
fn that_is_there(folder: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(folder).ok()?;
    folder.ancestors().find(|folder| folder.is_dir()).map(Path::to_owned)
}

/// What a plan is started from beside itself.
fn files(plan: &Plan) -> impl Iterator<Item = PathBuf> {
    let components = plan.toolsets.iter().filter_map(|toolset| match &toolset.source {
        Source::File(file) => Some(file.clone()),
        _ => None,
    });
    components.chain(plan.clients.iter().map(|client| client.token_file.clone()))
}

/// The bytes of a file, or one more than the most, so that whoever has them sees that they are too many.
fn read(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for somebody to write to it.
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(file)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Says when something happens in folders.
struct Events {
    /// Nothing where the system has none left to give.
    watcher: Option<RecommendedWatcher>,
    happened: Receiver<()>,
    folders: BTreeMap<PathBuf, Option<(u64, u64)>>,
}

impl Events {
    fn new() -> Self {
        // One that waits says as much as many.
        let (say, happened) = sync_channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| is_looking(&event)) {
                return;
            }
            let _ = say.try_send(());
        });
        Events { watcher: watcher.ok(), happened, folders: BTreeMap::new() }
    }

    /// Watches these folders, and no others. Says whether they were not watched before.
    fn watch(&mut self, folders: &BTreeSet<PathBuf>) -> bool {
        let identity = |folder: &PathBuf| folder.metadata().ok().map(|about| (about.dev(), about.ino()));
        let wanted: BTreeMap<_, _> = folders.iter().map(|folder| (folder.clone(), identity(folder))).collect();
        if wanted == self.folders {
            return false;
        }
        if let Some(watcher) = &mut self.watcher {
            for folder in self.folders.keys() {
                let _ = watcher.unwatch(folder);
            }
            let all = wanted.keys().try_for_each(|folder| watcher.watch(folder, RecursiveMode::NonRecursive));
            if all.is_err() {
                self.watcher = None;
            }
        }
        self.folders = wanted;
        true
    }

    /// Ends when something has happened and nothing more does, or after a while.
    fn wait(&self) {
        let patience = if self.watcher.is_some() { AT_LEAST_EVERY } else { WITHOUT_EVENTS };
        if self.happened.recv_timeout(patience).is_err() {
            // Where nobody can say anything that ends at once.
            if self.watcher.is_none() {
                std::thread::sleep(patience);
            }
            return;
        }
        let until = Instant::now() + UNSETTLED;
        while Instant::now() < until && self.happened.recv_timeout(SETTLED).is_ok() {}
    }
}

/// Whether somebody only looks, as this process does.
fn is_looking(event: &Event) -> bool {
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    }
}

/// What comes next in what is said.
const END: u8 = 0;
const TEXT: u8 = 1;
const FAULT: u8 = 2;
const FILE: u8 = 3;

impl Snapshot {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut part = |kind: u8, parts: &[&[u8]]| {
            out.write_all(&[kind])?;
            for part in parts {
                out.write_all(&(part.len() as u64).to_le_bytes())?;
                out.write_all(part)?;
            }
            Ok::<_, io::Error>(())
        };
        match &self.config {
            Some(Ok(text)) => part(TEXT, &[text.as_bytes()])?,
            Some(Err(fault)) => part(FAULT, &[fault.as_bytes()])?,
            None => {}
        }
        for (file, bytes) in &self.files {
            part(FILE, &[file.as_os_str().as_bytes(), bytes])?;
        }
        part(END, &[])?;
        out.flush()
    }

    fn read(from: &mut impl Read) -> io::Result<Self> {
        let part = |from: &mut dyn Read| {
            let mut length = [0; 8];
            from.read_exact(&mut length)?;
            let mut bytes = Vec::new();
            let length = u64::from_le_bytes(length);
            match from.take(length).read_to_end(&mut bytes)? as u64 == length {
                true => Ok(bytes),
                false => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            }
        };
        let mut snapshot = Snapshot::default();
        loop {
            let mut kind = [0];
            from.read_exact(&mut kind)?;
            match kind[0] {
                END => return Ok(snapshot),
                TEXT => snapshot.config = Some(Ok(String::from_utf8(part(from)?).map_err(io::Error::other)?)),
                FAULT => snapshot.config = Some(Err(String::from_utf8_lossy(&part(from)?).into_owned())),
                FILE => {
                    let file = PathBuf::from(OsString::from_vec(part(from)?));
                    snapshot.files.insert(file, part(from)?);
                }
                _ => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
    }
}

impl Iterator for Snapshots {
    type Item = Snapshot;

    fn next(&mut self) -> Option<Snapshot> {
        Snapshot::read(&mut self.said).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard() {
        let snapshots = [
            Snapshot { config: Some(Ok("[host]\n".to_owned())), files: BTreeMap::new() },
            Snapshot {
                config: Some(Err("gone".to_owned())),
                files: [("a", vec![0, 1]), ("b", Vec::new())].map(|(file, bytes)| (file.into(), bytes)).into(),
            },
            Snapshot::default(),
        ];
        let mut said = Vec::new();
        snapshots.iter().for_each(|snapshot| snapshot.write(&mut said).unwrap());
        let mut rest = said.as_slice();
        let heard = snapshots.each_ref().map(|_| Snapshot::read(&mut rest).unwrap());
        assert_eq!((heard, rest), (snapshots, [].as_slice()));
        for end in 0..said.len() {
            let mut rest = &said[..end];
            while Snapshot::read(&mut rest).is_ok() {}
        }
    }

    #[test]
    fn what_changes_is_seen_and_what_was_known_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let config = "[toolset.a]\ncomponent = \"a.wasm\"\n[toolset.b]\ncomponent = \"b.wasm\"\n";
        fs::write(path("witbox.toml"), config).unwrap();
        fs::write(path("a.wasm"), "one").unwrap();
        let view = |known: &str, since: Duration| View {
            config: Some(path("witbox.toml")),
            files: BTreeSet::new(),
            known: digest(known),
            agreements: Some(path("agreements")),
            since,
            seen: None,
            changed: BTreeSet::new(),
            most: 1_000,
        };
        let names = |view: &View| {
            view.snapshot().files.keys().map(|file| file.file_name().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let later = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(60);

        let mut older = view("[host]\n", later);
        assert!(older.look(), "the server has read another text");
        assert_eq!(names(&older), ["a.wasm"]);
        let mut young = view(config, Duration::ZERO);
        assert!(young.look(), "it may have changed while the server started");

        let mut view = view(config, later);
        fs::write(path("b.wasm"), "two").unwrap();
        assert!(!view.look(), "all is known");
        assert!(!view.look());
        fs::write(path("b.wasm"), "three").unwrap();
        assert!(view.look());
        assert_eq!(names(&view), ["b.wasm"]);
        fs::create_dir(path("agreements")).unwrap();
        assert!(!view.look());
        fs::write(path("agreements/a.json"), "").unwrap();
        assert!(view.look(), "somebody has agreed");
        assert_eq!(names(&view), ["b.wasm"], "and what is not as it was at the start is said again");
        fs::write(path("c.wasm"), "four").unwrap();
        fs::write(path("witbox.toml"), "[toolset.c]\ncomponent = \"c.wasm\"\n").unwrap();
        assert!(view.look());
        assert_eq!(names(&view), ["c.wasm"], "what was not watched at the start");
        fs::write(path("witbox.toml"), "[toolset").unwrap();
        assert!(view.look());
        fs::write(path("c.wasm"), "five").unwrap();
        assert!(view.look(), "a configuration that says nothing names what it named before");
        fs::remove_file(path("witbox.toml")).unwrap();
        assert!(view.look());
        assert!(view.snapshot().config.unwrap().is_err());
        assert_eq!(view.folders().len(), 2);
    }
}
