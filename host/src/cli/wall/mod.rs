//! The second wall: this process gives up what it does not need before the first instruction of a guest, so that even a
//! hole in the engine leads nowhere. Landlock takes files and ports, seccomp system calls.
//!
//! Neither can be taken back, and Landlock reaches only threads that start later: it goes up while there is one thread.

mod inherited;
mod system_calls;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, NetPort, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};
use witbox::{Mode, Plan, Source, Wall};

use SeccompCmpOp::{Eq, Ne};
pub(super) use inherited::Inherited;
use system_calls::{DENIED, DENIED_HERE, TIOCLINUX, X32};

/// The newest Landlock whose rights we know. Older kernels have fewer, and give up what they can.
const NEWEST: ABI = ABI::V10;
/// What the system's resolver reads. `/etc` as a whole holds passwords.
const RESOLVER: [&str; 14] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
    "/run/nscd",
    "/lib",
    "/lib64",
    "/usr/lib",
];
/// Where names are asked for over TCP when an answer is long.
const DOMAIN: u16 = 53;

/// What a process still needs.
#[derive(Debug, Default)]
struct Needs {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    /// The ports that it connects to; nothing where it opens no sockets at all.
    ports: Option<Vec<u16>>,
}

/// A process that has given up the rest, or was told not to; what runs guests asks for one.
#[derive(Debug)]
pub(super) struct Inside {
    /// How many cores there are, which cannot be found out any more.
    pub(super) cores: usize,
    /// What it has kept; nothing where it has given up nothing.
    held: Option<Needs>,
}

/// What a kernel offers, and so what is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(super) struct Offer {
    /// Landlock, from its first version.
    files: bool,
    /// Landlock, from its fourth.
    ports: bool,
    /// Landlock, from its sixth: signals to other processes, sockets without a place in the file system, and devices that are
    /// opened.
    others: bool,
    /// seccomp.
    system_calls: bool,
}

impl Offer {
    pub(super) fn of_this_kernel() -> Self {
        let has_rights = |rules: Result<Ruleset, RulesetError>| rules.and_then(Ruleset::create).is_ok();
        let rules = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        Offer {
            files: has_rights(rules().handle_access(AccessFs::from_all(ABI::V1))),
            ports: has_rights(rules().handle_access(AccessNet::from_all(ABI::V4))),
            others: has_rights(
                rules()
                    .handle_access(AccessFs::from_all(ABI::V6))
                    .and_then(|rules| rules.scope(Scope::from_all(ABI::V6))),
            ),
            system_calls: rustix::thread::secure_computing_mode().is_ok() && architecture().is_some(),
        }
    }

    fn is_whole(self) -> bool {
        self.files && self.ports && self.others && self.system_calls
    }
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("files", self.files),
            ("ports", self.ports),
            ("other processes", self.others),
            ("system calls", self.system_calls),
        ];
        let (there, lacking): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(_, is_there)| *is_there);
        let names = |parts: Vec<(&str, bool)>| match parts.as_slice() {
            [] => "nothing".to_owned(),
            parts => parts.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        };
        write!(f, "{} can be given up", names(there))?;
        if lacking.is_empty() { Ok(()) } else { write!(f, ", and {} cannot", names(lacking)) }
    }
}

impl Inside {
    /// A process that runs nothing but its own cases.
    pub(super) fn open() -> Self {
        Inside { cores: std::thread::available_parallelism().map_or(1, usize::from), held: None }
    }

    /// Whether anything is given up.
    pub(super) fn is_walled(&self) -> bool {
        self.held.is_some()
    }

    /// What the calls of another plan would need that is given up.
    pub(super) fn lacks(&self, plan: &Plan) -> Vec<String> {
        let Some(held) = &self.held else { return Vec::new() };
        let wanted = Needs::to_serve(plan);
        let lies_in = |path: &PathBuf, all: &[PathBuf]| all.iter().any(|has| path == has || is_below(path, has));
        let shown = |what: &str, path: &PathBuf| format!("{what} {}", path.display());
        let unread = wanted.read.iter().filter(|path| !lies_in(path, &held.read) && !lies_in(path, &held.write));
        let mut lacks: Vec<String> = unread.map(|path| shown("to read", path)).collect();
        let unwritten = wanted.write.iter().filter(|path| !lies_in(path, &held.write));
        lacks.extend(unwritten.map(|path| shown("to write to", path)));
        let ports = held.ports.as_deref().unwrap_or_default();
        let closed = wanted.ports.iter().flatten().filter(|port| !ports.contains(port));
        lacks.extend(closed.map(|port| format!("to connect to port {port}")));
        lacks
    }
}

/// Gives up what the calls of a plan do not need, and what was left open.
///
/// # Errors
/// When the configuration requires what this kernel does not offer.
pub(super) fn raise(plan: &Plan, inherited: &Inherited) -> anyhow::Result<Inside> {
    give_up(plan, Needs::of(plan), inherited)
}

/// The same, where components are opened only when they are called: they are still read, and their compiled code.
///
/// # Errors
/// As [`raise`].
pub(super) fn raise_for_serving(plan: &Plan, cache: Option<PathBuf>, inherited: &Inherited) -> anyhow::Result<Inside> {
    let mut needs = Needs::to_serve(plan);
    needs.read.extend(cache);
    needs.read.extend(plan.toolsets.iter().filter_map(|toolset| match &toolset.source {
        Source::File(file) => Some(file.clone()),
        _ => None,
    }));
    give_up(plan, needs, inherited)
}

fn give_up(plan: &Plan, needs: Needs, inherited: &Inherited) -> anyhow::Result<Inside> {
    let inside = Inside::open();
    if plan.wall == Wall::Off {
        return Ok(inside);
    }
    let offer = Offer::of_this_kernel();
    if plan.wall == Wall::Required && !offer.is_whole() {
        bail!("[host] has wall = \"required\", and on this system {offer}");
    }
    // Threads that run already would stay outside.
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if plan.wall == Wall::Required && threads > 1 {
        bail!("{threads} threads run already, which the wall would not hold");
    }
    inherited.close();
    needs.give_up_the_rest(offer)?;
    Ok(Inside { held: Some(needs), ..inside })
}

/// Gives up what a stranger's cases do not need: what lies in their folders is copied, and only fakes answer requests.
pub(super) fn raise_for_cases(folders: Vec<PathBuf>, inherited: &Inherited) -> anyhow::Result<Inside> {
    let inside = Inside::open();
    inherited.close();
    Needs { read: folders, write: vec![std::env::temp_dir()], ports: None }.give_up_the_rest(Offer::of_this_kernel())?;
    Ok(inside)
}

/// Gives up everything but to compute, and to read and write what is open.
pub(super) fn raise_for_compiling() -> anyhow::Result<()> {
    Needs::default().give_up_the_rest(Offer::of_this_kernel())
}

impl Needs {
    /// What the calls of a plan need. Their components are open by then.
    fn of(plan: &Plan) -> Self {
        let mut needs = Needs { write: plan.workspace.iter().cloned().collect(), ..Needs::default() };
        for toolset in &plan.toolsets {
            for mount in toolset.grant.mounts() {
                let paths = if mount.mode() == Mode::ReadWrite { &mut needs.write } else { &mut needs.read };
                paths.push(mount.host().to_owned());
            }
            for rule in toolset.grant.http_rules() {
                needs.ports.get_or_insert_with(|| vec![DOMAIN]).push(rule.origin().port());
            }
        }
        if needs.ports.is_some() {
            needs.read.extend(RESOLVER.map(PathBuf::from));
        }
        needs
    }

    /// The same, where what grants name is read again when they change.
    fn to_serve(plan: &Plan) -> Self {
        let mut needs = Needs::of(plan);
        let rules = plan.toolsets.iter().flat_map(|toolset| toolset.grant.http_rules());
        needs.read.extend(rules.filter_map(|rule| rule.authorities().map(Path::to_owned)));
        needs
    }

    fn give_up_the_rest(&self, offer: Offer) -> anyhow::Result<()> {
        if offer.files {
            self.landlock().context("Landlock")?;
        }
        if let (true, Some(architecture)) = (offer.system_calls, architecture()) {
            for filter in self.filters(architecture).context("seccomp")? {
                seccompiler::apply_filter(&filter).context("seccomp")?;
            }
        }
        Ok(())
    }

    fn landlock(&self) -> anyhow::Result<()> {
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(NEWEST))?
            .handle_access(AccessNet::from_all(NEWEST))?
            .scope(Scope::from_all(NEWEST))?
            .create()?;
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        // All that the guard may do, and nothing that makes devices, pipes or sockets.
        let write = read
            | AccessFs::WriteFile
            | AccessFs::Truncate
            | AccessFs::MakeReg
            | AccessFs::MakeDir
            | AccessFs::MakeSym
            | AccessFs::RemoveFile
            | AccessFs::RemoveDir
            | AccessFs::Refer;
        for (paths, access) in [(&self.read, read), (&self.write, write)] {
            for path in paths {
                // What is not there is needed by a toolset that has not started.
                let Ok(folder) = PathFd::new(path) else { continue };
                let of_files = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
                let access = if path.is_dir() { access } else { access & of_files };
                rules = rules.add_rule(PathBeneath::new(folder, access))?;
            }
        }
        for port in self.ports.iter().flatten() {
            rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
        }
        let status = rules.restrict_self()?;
        if status.ruleset == RulesetStatus::NotEnforced {
            bail!("the kernel has not taken it");
        }
        Ok(())
    }

    fn filters(&self, architecture: TargetArch) -> anyhow::Result<[BpfProgram; 2]> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
        for number in DENIED.iter().chain(DENIED_HERE) {
            deny(&mut rules, architecture, *number, Vec::new());
        }
        // Threads are made, and no processes.
        let is_thread = libc::CLONE_THREAD as u64;
        let process = condition(0, SeccompCmpOp::MaskedEq(is_thread), 0)?;
        deny(&mut rules, architecture, libc::SYS_clone, vec![SeccompRule::new(vec![process])?]);
        let own = u64::from(std::process::id());
        let when = |conditions: Vec<Condition>| {
            conditions.into_iter().collect::<Result<Vec<_>, _>>().and_then(SeccompRule::new)
        };
        // What a thread does to itself, and nobody else.
        deny(&mut rules, architecture, libc::SYS_tgkill, vec![when(vec![condition(0, Ne, own)])?]);
        deny(
            &mut rules,
            architecture,
            libc::SYS_prlimit64,
            vec![when(vec![condition(0, Ne, own), condition(0, Ne, 0)])?],
        );
        // What types at the terminal that this process was started from.
        let typing = [libc::TIOCSTI, TIOCLINUX].map(|request| when(vec![condition(1, Eq, request)]));
        deny(&mut rules, architecture, libc::SYS_ioctl, typing.into_iter().collect::<Result<_, _>>()?);
        if self.ports.is_none() {
            deny(&mut rules, architecture, libc::SYS_socket, Vec::new());
        } else {
            let [inet, inet6, netlink] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(|family| family as u64);
            let [tcp, udp] = [libc::IPPROTO_TCP, libc::IPPROTO_UDP].map(|protocol| protocol as u64);
            // The internet's, by TCP and for names by UDP, and what tells the resolver which addresses this machine has.
            let mut others = vec![
                when(vec![condition(0, Ne, inet), condition(0, Ne, inet6), condition(0, Ne, netlink)])?,
                when(vec![condition(0, Eq, netlink), condition(2, Ne, 0)])?,
            ];
            for family in [inet, inet6] {
                let protocol = [0, tcp, udp].map(|protocol| condition(2, Ne, protocol));
                others.push(when([condition(0, Eq, family)].into_iter().chain(protocol).collect())?);
                let raw = condition(1, SeccompCmpOp::MaskedEq(0xf), libc::SOCK_RAW as u64);
                others.push(when(vec![condition(0, Eq, family), raw])?);
            }
            deny(&mut rules, architecture, libc::SYS_socket, others);
            // Connecting by sending is not asked about as connecting is.
            let fast = libc::MSG_FASTOPEN as u64;
            for (number, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
                let opens = condition(flags, SeccompCmpOp::MaskedEq(fast), fast);
                deny(&mut rules, architecture, number, vec![when(vec![opens])?]);
            }
        }
        // Its arguments cannot be seen by a filter; who is told that there is none such takes the older one.
        let mut absent = BTreeMap::new();
        deny(&mut absent, architecture, libc::SYS_clone3, Vec::new());
        let filter = |rules, errno: i32| {
            SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno as u32), architecture)?
                .try_into()
        };
        Ok([filter(rules, libc::EPERM)?, filter(absent, libc::ENOSYS)?])
    }
}

/// Whether a path leads to what lies in a folder, whatever both are called.
fn is_below(path: &Path, folder: &Path) -> bool {
    path.canonicalize().is_ok_and(|path| folder.canonicalize().is_ok_and(|folder| path.starts_with(folder)))
}

type Condition = Result<SeccompCondition, seccompiler::BackendError>;

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

fn deny(rules: &mut BTreeMap<i64, Vec<SeccompRule>>, architecture: TargetArch, number: i64, when: Vec<SeccompRule>) {
    // The same calls have a second number for programs with 32-bit pointers.
    if architecture == TargetArch::x86_64 {
        rules.insert(number | X32, when.clone());
    }
    rules.insert(number, when);
}

fn architecture() -> Option<TargetArch> {
    std::env::consts::ARCH.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io;
    use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;

    /// What is tried behind a wall.
    type Attempt = fn(&Place) -> io::Result<()>;

    #[derive(Clone)]
    struct Place {
        root: PathBuf,
        /// A port that is granted, and one that is not; servers listen on both.
        ports: [u16; 2],
    }

    /// What, whether it works without the network and whether it works with it.
    const ATTEMPTS: [(&str, Attempt, bool, bool); 24] = [
        ("read a mount", |place| fs::read(place.root.join("ro/a")).map(drop), true, true),
        ("list a mount", |place| fs::read_dir(place.root.join("ro")).map(drop), true, true),
        ("write to a mount that is read", |place| fs::write(place.root.join("ro/a"), "x"), false, false),
        ("create in it", |place| fs::write(place.root.join("ro/new"), "x"), false, false),
        ("remove from it", |place| fs::remove_file(place.root.join("ro/a")), false, false),
        ("write to a mount that is written", |place| fs::write(place.root.join("rw/a"), "x"), true, true),
        (
            "create, rename and remove in it",
            |place| {
                fs::create_dir_all(place.root.join("rw/d/e"))?;
                fs::write(place.root.join("rw/d/f"), "x")?;
                fs::rename(place.root.join("rw/d/f"), place.root.join("rw/d/e/g"))?;
                fs::remove_dir_all(place.root.join("rw/d"))
            },
            true,
            true,
        ),
        ("make a socket in it", |place| make_socket(&place.root.join("rw/s")), false, false),
        ("read beside the mounts", |place| fs::read(place.root.join("secret")).map(drop), false, false),
        ("list beside the mounts", |place| fs::read_dir(&place.root).map(drop), false, false),
        ("follow a link out of one", |place| fs::read(place.root.join("ro/link")).map(drop), false, false),
        ("read passwords", |_| fs::read("/etc/passwd").map(drop), false, false),
        ("read the memory of a process", |_| fs::read("/proc/self/maps").map(drop), false, false),
        ("start a program", |_| Command::new("/bin/true").status().map(drop), false, false),
        ("start this program", |_| this_program().status().map(drop), false, false),
        (
            "start a thread",
            |_| std::thread::Builder::new().spawn(|| ())?.join().map_err(|_| io::ErrorKind::Other.into()),
            true,
            true,
        ),
        (
            "read passwords in a new thread",
            |_| std::thread::scope(|scope| scope.spawn(|| fs::read("/etc/passwd").map(drop)).join()).unwrap(),
            false,
            false,
        ),
        ("connect to a port", |place| connect(place.ports[0]), false, true),
        ("connect to another", |place| connect(place.ports[1]), false, false),
        ("listen", |_| TcpListener::bind("127.0.0.1:0").map(drop), false, false),
        ("open a socket for datagrams", |_| UdpSocket::bind("127.0.0.1:0").map(drop), false, true),
        (
            "connect to a service of this machine",
            |place| UnixStream::connect(place.root.join("service")).map(drop),
            false,
            false,
        ),
        (
            "change the mode of a file",
            |place| fs::set_permissions(place.root.join("secret"), PermissionsExt::from_mode(0o600)),
            false,
            false,
        ),
        (
            "stop another process",
            |_| {
                let stop = rustix::process::test_kill_process(rustix::process::getppid().unwrap());
                Ok(stop?)
            },
            false,
            false,
        ),
    ];

    fn connect(port: u16) -> io::Result<()> {
        TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], port)), Duration::from_secs(5)).map(drop)
    }

    fn this_program() -> Command {
        let mut command = Command::new("/proc/self/exe");
        command.arg("--list").stdout(Stdio::null());
        command
    }

    fn make_socket(path: &Path) -> io::Result<()> {
        UnixListener::bind(path).map(drop)
    }

    #[test]
    fn what_no_grant_needs_is_gone() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["ro", "rw"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        for file in ["ro/a", "rw/a", "secret"] {
            fs::write(root.path().join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink("../secret", root.path().join("ro/link")).unwrap();
        let _service = UnixListener::bind(root.path().join("service")).unwrap();
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = [0, 1].map(|n: usize| listeners[n].local_addr().unwrap().port());
        let place = Place { root: root.path().to_owned(), ports };
        // Where there is no wall all of it works, so that it is the wall that is seen.
        for (what, attempt, ..) in ATTEMPTS {
            fs::write(root.path().join("ro/a"), "x").unwrap();
            let _ = fs::remove_file(root.path().join("rw/s"));
            assert!(attempt(&place).is_ok(), "{what}");
            let _ = fs::remove_file(root.path().join("ro/new"));
            let _ = fs::remove_file(root.path().join("rw/s"));
        }
        fs::write(root.path().join("ro/a"), "x").unwrap();
        let offer = Offer::of_this_kernel();
        assert!(offer.is_whole(), "this test needs a kernel with all of it: {offer}");
        for has_network in [false, true] {
            let place = place.clone();
            // It binds the thread that it goes up in, and those that this one starts.
            let found = std::thread::spawn(move || {
                let needs = Needs {
                    read: vec![place.root.join("ro"), place.root.join("not-there")],
                    write: vec![place.root.join("rw")],
                    ports: has_network.then(|| vec![place.ports[0]]),
                };
                needs.give_up_the_rest(offer).unwrap();
                assert!(UnixStream::pair().is_ok(), "signals need a pair");
                ATTEMPTS.map(|(_, attempt, ..)| attempt(&place).map_err(|error| error.kind()))
            })
            .join()
            .unwrap();
            for ((what, _, without, with), found) in ATTEMPTS.into_iter().zip(found) {
                let expected = if has_network { with } else { without };
                assert_eq!(found.is_ok(), expected, "{what}, with the network: {has_network}: {found:?}");
                if let Err(kind) = found {
                    assert_eq!(kind, io::ErrorKind::PermissionDenied, "{what}");
                }
            }
        }
    }

    #[test]
    fn a_compiler_computes_and_nothing_else() {
        let found = std::thread::spawn(|| {
            raise_for_compiling().unwrap();
            let computed = (0..4u64).map(|n| std::thread::spawn(move || n * n)).map(|thread| thread.join().unwrap());
            assert_eq!(computed.sum::<u64>(), 14);
            [
                fs::read("/etc/hostname").is_ok(),
                fs::write("/tmp/witbox-never", "x").is_ok(),
                UdpSocket::bind("127.0.0.1:0").is_ok(),
            ]
        });
        assert_eq!(found.join().unwrap(), [false; 3]);
    }
}
