//! Compiled code that is kept: used where it is ours and whole, made again where it is not.
#![allow(clippy::unwrap_used, reason = "tests may")]

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use witbox::{Cache, Call, Compile, Compiled, Component, Engine, Error, Grant, Host, InProcess, Mount, Source, Status};

/// Counts what is compiled.
#[derive(Default)]
struct Counting {
    compiler: InProcess,
    count: AtomicUsize,
}

impl Compile for Counting {
    fn compile(&self, component: &[u8]) -> Result<Compiled, Error> {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.compiler.compile(component)
    }
}

/// A start of a program: an engine with nothing in memory, and what it compiled.
fn start(folder: &Path) -> (Engine, Arc<Counting>) {
    let compiler = Arc::new(Counting::default());
    let cache = Cache::open(folder).unwrap();
    (Engine::builder().cache(cache).compiler(compiler.clone()).build().unwrap(), compiler)
}

const ANSWER: &str = r#"(component
  (core module $m (func (export "run") (result i32) (i32.const 42)))
  (core instance $i (instantiate $m))
  (func (export "run") (result u32) (canon lift (core func $i "run"))))"#;

fn folder() -> (TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("cache");
    (root, folder)
}

async fn answer(engine: &Engine, component: &Component) -> String {
    let mut host = Host::builder(engine);
    host.toolset("t", component, Grant::default()).unwrap();
    host.build().call(Call::new("1", "t_run", "{}")).await.text()
}

/// The files of the only entry: what is known, and the code.
fn entry(folder: &Path) -> (PathBuf, PathBuf) {
    let of = |kind: &str| {
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let found: Vec<_> = files.filter(|path| path.extension().is_some_and(|found| found == kind)).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    };
    (of("tools"), of("code"))
}

#[tokio::test]
async fn a_component_is_compiled_once() {
    let (_root, folder) = folder();
    let bytes = wat::parse_str(ANSWER).unwrap();
    for compiled in [1, 0, 0] {
        let (engine, compiler) = start(&folder);
        let component = Component::new(&engine, &bytes).unwrap();
        assert_eq!(component.tools("t").unwrap()[0].output_schema().unwrap()["type"], "integer");
        assert_eq!(answer(&engine, &component).await, "42");
        assert_eq!(compiler.count.load(Ordering::SeqCst), compiled);
    }
    let list = Cache::open(&folder).unwrap().list().unwrap();
    assert_eq!((list.len(), list[0].tools.clone(), list[0].fault.clone()), (1, vec!["run".to_owned()], None));
}

#[tokio::test]
async fn what_was_tampered_with_is_made_again() {
    type Tamper = fn(&Path, &Path);
    let cases: [(&str, Tamper); 11] = [
        ("a byte of the code", |_, code| flip(code, 5_000)),
        ("the code's last byte", |_, code| flip(code, fs::read(code).unwrap().len() - 1)),
        ("a byte of what is known", |tools, _| flip(tools, 80)),
        ("its tag", |tools, _| flip(tools, 3)),
        ("cut code", |_, code| fs::write(code, &fs::read(code).unwrap()[..1_000]).unwrap()),
        ("nothing in it", |tools, _| fs::write(tools, b"").unwrap()),
        ("no code", |_, code| fs::remove_file(code).unwrap()),
        ("code that others may write", |_, code| chmod(code, 0o620)),
        ("what is known readable by others", |tools, _| chmod(tools, 0o644)),
        ("a link to the code", |_, code| {
            fs::rename(code, code.with_extension("moved")).unwrap();
            symlink(code.with_extension("moved"), code).unwrap();
        }),
        ("another key", |tools, _| {
            let key = tools.parent().unwrap().join("key");
            fs::write(&key, [7; 32]).unwrap();
        }),
    ];
    let bytes = wat::parse_str(ANSWER).unwrap();
    for (what, tamper) in cases {
        let (_root, folder) = folder();
        let (engine, _) = start(&folder);
        Component::new(&engine, &bytes).unwrap();
        let (tools, code) = entry(&folder);
        tamper(&tools, &code);
        assert!(Cache::open(&folder).unwrap().list().unwrap()[0].fault.is_some(), "{what}");

        let (engine, compiler) = start(&folder);
        let component = Component::new(&engine, &bytes).unwrap();
        assert_eq!(answer(&engine, &component).await, "42", "{what}");
        assert_eq!(compiler.count.load(Ordering::SeqCst), 1, "{what}");
        let list = Cache::open(&folder).unwrap().list().unwrap();
        assert_eq!(list.iter().map(|cached| cached.fault.clone()).collect::<Vec<_>>(), [None], "{what}");
    }
}

fn flip(file: &Path, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 1;
    fs::write(file, bytes).unwrap();
}

fn chmod(file: &Path, mode: u32) {
    fs::set_permissions(file, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_folder_that_others_may_use_is_refused() {
    let (_root, folder) = folder();
    Cache::open(&folder).unwrap();
    for mode in [0o770, 0o701, 0o777] {
        chmod(&folder, mode);
        let error = Cache::open(&folder).unwrap_err();
        assert!(error.is_cache() && error.to_string().contains("rm -r"), "{error}");
    }
    chmod(&folder, 0o700);
    fs::write(folder.join("key"), b"short").unwrap();
    assert!(Cache::open(&folder).unwrap_err().to_string().contains("is no key"));
}

#[tokio::test]
async fn listing_reads_no_component_and_a_call_finds_out_that_it_changed() {
    let (root, folder) = folder();
    let file = root.path().join("t.wasm");
    fs::write(&file, wat::parse_str(ANSWER).unwrap()).unwrap();
    // A file that was only just written could be written again within the same tick of the clock.
    std::thread::sleep(Duration::from_millis(3_100));
    let source = Source::File(file.clone());
    let (engine, compiler) = start(&folder);
    Component::load(&engine, &source).unwrap();
    assert_eq!(compiler.count.load(Ordering::SeqCst), 1);

    let (engine, compiler) = start(&folder);
    let listed = Component::load(&engine, &source).unwrap();
    let mut host = Host::builder(&engine);
    host.toolset("t", &listed, Grant::default()).unwrap();
    let host = host.build();
    assert_eq!(host.call(Call::new("1", "t_run", "{}")).await.text(), "42");
    assert_eq!(compiler.count.load(Ordering::SeqCst), 0);

    let (engine, _) = start(&folder);
    let listed = Component::load(&engine, &source).unwrap();
    let mut host = Host::builder(&engine);
    host.toolset("t", &listed, Grant::default()).unwrap();
    let host = host.build();
    fs::write(&file, wat::parse_str(ANSWER.replace("42", "43")).unwrap()).unwrap();
    let reply = host.call(Call::new("1", "t_run", "{}")).await;
    assert_eq!(reply.status, Status::Failed, "{reply:?}");
    assert!(reply.text().contains("not what it was when its tools were listed"), "{}", reply.text());
    assert_eq!(host.open().len(), 1);
    // Who lists again gets what is there now.
    let (engine, compiler) = start(&folder);
    let listed = Component::load(&engine, &source).unwrap();
    assert_eq!(answer(&engine, &listed).await, "43");
    assert_eq!(compiler.count.load(Ordering::SeqCst), 1);
    // And who put back what was there finds it kept.
    fs::write(&file, wat::parse_str(ANSWER).unwrap()).unwrap();
    let (engine, compiler) = start(&folder);
    assert_eq!(answer(&engine, &Component::load(&engine, &source).unwrap()).await, "42");
    assert_eq!(compiler.count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn many_starts_at_once_agree() {
    let (_root, folder) = folder();
    let bytes = wat::parse_str(ANSWER).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let (engine, _) = start(&folder);
                let component = Component::new(&engine, &bytes).unwrap();
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
                assert_eq!(runtime.block_on(answer(&engine, &component)), "42");
            });
        }
    });
    let list = Cache::open(&folder).unwrap().list().unwrap();
    assert_eq!(list.iter().map(|cached| cached.fault.clone()).collect::<Vec<_>>(), [None]);
    let left = fs::read_dir(&folder).unwrap().filter(|file| file.as_ref().unwrap().path().extension().is_none());
    assert_eq!(left.count(), 1, "nothing but the key");
}

#[test]
fn what_was_not_used_for_longest_goes_first() {
    let (_root, folder) = folder();
    let numbered = |n: u32| wat::parse_str(ANSWER.replace("42", &n.to_string())).unwrap();
    let (engine, _) = start(&folder);
    for n in 0..4 {
        Component::new(&engine, &numbered(n)).unwrap();
    }
    let code = |n: u32| {
        let digest = Component::new(&engine, &numbered(n)).unwrap().digest().trim_start_matches("sha256:").to_owned();
        let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
        let mut files = files.filter(|path| path.extension().is_some_and(|kind| kind == "code"));
        files.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&digest)).unwrap()
    };
    let files = [code(0), code(0).with_extension("tools")];
    let size: u64 = files.iter().map(|file| fs::metadata(file).unwrap().len()).sum();
    // As if they had been used years ago, the first one last.
    for n in 0..4 {
        let time = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000 - u64::from(n));
        fs::File::options().append(true).open(code(n)).unwrap().set_modified(time).unwrap();
    }
    // Used now.
    let (engine, _) = start(&folder);
    let mut host = Host::builder(&engine);
    host.toolset("t", &Component::new(&engine, &numbered(3)).unwrap(), Grant::default()).unwrap();
    let cache = Cache::open(&folder).unwrap();
    let kept = [code(0), code(3)];
    assert_eq!(cache.prune(2 * size + 100).unwrap(), 2);
    assert_eq!(cache.list().unwrap().len(), 2);
    assert!(kept.iter().all(|path| path.exists()));
    // A cache that holds one drops the other for a third.
    let small = Engine::builder().cache(Cache::open(&folder).unwrap().max_bytes(size + 100)).build().unwrap();
    assert!(Component::new(&small, &numbered(9)).unwrap().notes().is_empty());
    assert_eq!(cache.list().unwrap().len(), 1);
    assert_eq!(cache.prune(0).unwrap(), 1);
    assert!(cache.list().unwrap().is_empty());
    // What cannot be kept is told.
    let none = Engine::builder().cache(Cache::open(&folder).unwrap().max_bytes(10)).build().unwrap();
    let component = Component::new(&none, &numbered(9)).unwrap();
    assert!(component.notes()[0].starts_with("its compiled code is not kept for the next start: "));
}

#[tokio::test]
async fn no_guest_reaches_it() {
    let (root, folder) = folder();
    let (engine, _) = start(&folder);
    let component = Component::builtin(&engine, "files").unwrap();
    let grant = Grant::default().mount(Mount::read_write(root.path(), "/m".parse().unwrap()));
    let mut host = Host::builder(&engine);
    host.toolset("files", &component, grant).unwrap();
    let host = host.build();
    let (_, code) = entry(&folder);
    let code = code.file_name().unwrap().to_str().unwrap();
    for (tool, path) in [
        ("files_read", "/m/cache/key".to_owned()),
        ("files_read", format!("/m/cache/{code}")),
        ("files_ls", "/m/cache".to_owned()),
        ("files_ls", "/m/cache/.".to_owned()),
    ] {
        let reply = host.call(Call::new("1", tool, format!(r#"{{"path": "{path}"}}"#))).await;
        assert_eq!(reply.status, Status::ToolError, "{path}: {reply:?}");
        assert_eq!(reply.denials.len(), 1, "{path}: {reply:?}");
    }
    for path in ["/m/cache/new", "/m/cache/key", &format!("/m/cache/{code}")] {
        let arguments = format!(r#"{{"path": "{path}", "content": "x"}}"#);
        let reply = host.call(Call::new("1", "files_write", arguments)).await;
        assert_eq!(reply.status, Status::ToolError, "{path}: {reply:?}");
    }
    assert_eq!(fs::read(folder.join("key")).unwrap().len(), 32);
    // Nor is it, or what is in it, a mount.
    for host_folder in [folder.clone(), folder.join(".")] {
        let grant = Grant::default().mount(Mount::read_only(host_folder, "/m".parse().unwrap()));
        let mut host = Host::builder(&engine);
        assert!(host.toolset("files", &component, grant).is_err());
    }
}

/// Also where it could not be opened, and where it is at other times: what a guest wrote there would be run by the next start.
#[test]
fn no_guest_reaches_one_that_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let folders = [root.path().join("xdg/witbox"), root.path().join("home/.cache/witbox")];
    for folder in &folders {
        Cache::open(folder).unwrap();
        chmod(folder, 0o755);
    }
    let mount = format!("{}:/m:rw", root.path().display());
    for (tool, arguments) in [
        ("read", r#"{"path": "/m/xdg/witbox/key"}"#),
        ("write", r#"{"path": "/m/xdg/witbox/key", "content": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#),
        ("read", r#"{"path": "/m/home/.cache/witbox/key"}"#),
        ("ls", r#"{"path": "/m/home/.cache/witbox"}"#),
        ("write", r#"{"path": "/m/home/.cache/witbox/new", "content": "x"}"#),
    ] {
        let output = support::program::witbox()
            .env("XDG_CACHE_HOME", root.path().join("xdg"))
            .env("HOME", root.path().join("home"))
            .args(["call", "-t", "builtin:files", "--mount", &mount, tool, arguments])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments}: {told}");
        assert!(told.contains("witbox's own"), "{arguments}: {told}");
    }
    assert!(folders.iter().all(|folder| fs::read(folder.join("key")).unwrap().len() == 32));
}

/// What is missing or was changed after it was listed is compiled again before a call gives up the means to.
#[test]
fn damaged_code_of_a_component_that_is_listed_is_made_again() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("t.wasm");
    fs::write(&file, wat::parse_str(ANSWER).unwrap()).unwrap();
    std::thread::sleep(Duration::from_millis(3_100));
    let witbox = |arguments: &[&str]| {
        let mut command = support::program::witbox();
        command.env("XDG_CACHE_HOME", root.path()).args(arguments).arg("-t").arg(&file);
        command.output().unwrap()
    };
    assert!(witbox(&["list"]).status.success());
    let (_, code) = entry(&root.path().join("witbox"));
    for damage in [(|code| flip(code, 5_000)) as fn(&Path), |code| fs::remove_file(code).unwrap()] {
        damage(&code);
        let output = witbox(&["call", "run"]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "42\n", "{output:?}");
    }
}

/// A toolset that cannot start is found each time, also where what is known of its component was listed before.
#[test]
fn what_keeps_a_known_component_from_starting_is_told_again() {
    let root = tempfile::tempdir().unwrap();
    let needs_a_module = ANSWER.replacen("(component", "(component (import \"m\" (core module))", 1);
    fs::write(root.path().join("t.wasm"), wat::parse_str(needs_a_module).unwrap()).unwrap();
    let config = root.path().join("witbox.toml");
    fs::write(&config, "[toolset.t]\ncomponent = \"t.wasm\"\n").unwrap();
    std::thread::sleep(Duration::from_millis(3_100));
    for _ in 0..2 {
        let mut check = support::program::witbox();
        let output = check.env("XDG_CACHE_HOME", root.path()).args(["check", "-c"]).arg(&config).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("which this host does not provide") && !told.contains("1 tool"), "{told}");
    }
}
