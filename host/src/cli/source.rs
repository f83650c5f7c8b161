//! Where the tools of a command come from: a configuration, or one component and the flags that grant it something.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use witbox::{
    Component, Engine, Grant, GuestPath, Host, HostBuilder, HttpRule, Limits, Mode, Mount, Plan, Source, ToolsetPlan,
    Workspace,
};

use super::engine::Compiling;
use super::report::Report;
use super::serving::Serving;
use super::wall::{self, Inherited, Inside};
use super::{engine, mcp, terminal, workspace};

/// The configuration that is looked for where none is named.
const DEFAULT_CONFIG: &str = "witbox.toml";
/// Whose results they are where nobody says.
const DEFAULT_SESSION: &str = "default";
/// The largest configuration that is read, in bytes.
pub(super) const MAX_CONFIG: usize = 4 << 20;

#[derive(clap::Args)]
pub(super) struct SourceArgs {
    /// The configuration. Without it and -t: witbox.toml in the current folder
    #[arg(short, long, value_name = "FILE", conflicts_with = "component")]
    config: Option<PathBuf>,

    /// One component, a file or builtin:NAME, under no grant but that of the flags below
    #[arg(short = 't', long = "tool", value_name = "WASM")]
    component: Option<PathBuf>,

    /// Mounts a folder, with -t: HOST:GUEST, or HOST:GUEST:rw to let it be changed
    #[arg(long, value_name = "HOST:GUEST[:rw]")]
    mount: Vec<String>,

    /// Sets an environment variable of the guest, with -t
    #[arg(long, value_name = "K=V")]
    env: Vec<String>,

    /// Lets requests be sent to an origin, such as https://api.example, with -t
    #[arg(long, value_name = "ORIGIN")]
    allow_http: Vec<String>,

    /// The same, where its host may have a private address, such as http://127.0.0.1:8080
    #[arg(long, value_name = "ORIGIN")]
    allow_private_http: Vec<String>,

    /// Units of fuel of a call, such as 200M, with -t
    #[arg(long)]
    fuel: Option<String>,

    /// Bytes of memory of a call, such as 64MiB, with -t
    #[arg(long)]
    memory: Option<String>,

    /// Wall clock of a call, such as 30s, with -t
    #[arg(long)]
    timeout: Option<String>,

    /// Bytes that a program may write to standard output in a call, such as 10GiB, with -t
    #[arg(long)]
    stream: Option<String>,
}

/// The same for commands that call tools.
#[derive(clap::Args)]
pub(super) struct CallableArgs {
    #[command(flatten)]
    source: SourceArgs,

    /// Refuses arguments that are not to the letter what the schema says, such as "5" for 5
    #[arg(long)]
    strict_args: bool,

    /// Whose results these are: only calls of the same session find them again
    #[arg(long, value_name = "NAME", default_value = DEFAULT_SESSION)]
    session: String,
}

impl CallableArgs {
    /// Starts a host with the tools, as [`SourceArgs::open`] does, and gives up all that calls of some of them do not need. Whatever
    /// else a command reads it must have read before.
    pub(super) fn open<'n>(
        &self,
        calls: impl IntoIterator<Item = &'n str>,
        inherited: &Inherited,
        report: &Report,
    ) -> anyhow::Result<(Host, Inside)> {
        let mut planned = self.source.plan()?;
        let engine = planned.engine(Compiling::WhenAsked, report)?;
        let workspace = planned.workspace(report)?;
        let mut host = planned.builder(&engine);
        planned.keep_results(&mut host, workspace.as_ref(), &self.session)?;
        if self.strict_args {
            host.strict_arguments();
        }
        if let Some(person) = terminal::person() {
            host.asker(person);
        }
        let host = planned.start(host, report)?;
        host.open_for(calls);
        let inside = wall::raise(&planned.plan, inherited)?;
        Ok((host, inside))
    }

    /// What is to be served, and to whom.
    pub(super) fn serving(&self, report: &Report) -> anyhow::Result<Serving> {
        Serving::start(self.source.plan()?, self.session.clone(), self.strict_args, report)
    }
}

/// What a command is to start.
#[derive(Clone)]
pub(super) struct Planned {
    /// Of one component, or of a configuration.
    pub(super) plan: Plan,
    /// The configuration and its text, where there is one.
    pub(super) config: Option<(PathBuf, String)>,
    /// That file, or the component.
    pub(super) origin: PathBuf,
}

/// A host, and what is to be told of it.
pub(super) struct Built {
    pub(super) host: Host,
    /// Why toolsets are left out.
    pub(super) left_out: Vec<witbox::Error>,
    pub(super) notes: Vec<String>,
}

impl Planned {
    pub(super) fn engine(&self, compiling: Compiling, report: &Report) -> anyhow::Result<Engine> {
        engine::of_plan(&self.plan, compiling, report)
    }

    pub(super) fn builder(&self, engine: &Engine) -> HostBuilder {
        let mut host = Host::builder(engine);
        // Whether it could be opened or not.
        for folder in engine::cache_folders() {
            host.hide(&folder);
        }
        host
    }

    /// Where results are kept, where they are.
    pub(super) fn workspace(&mut self, report: &Report) -> anyhow::Result<Option<Workspace>> {
        let workspace = workspace::open(&self.plan, &self.origin, report)?;
        if let Some(workspace) = &workspace {
            self.plan.workspace = Some(workspace.folder().to_owned());
        }
        Ok(workspace)
    }

    /// Has the results of calls kept.
    pub(super) fn keep_results(
        &self,
        host: &mut HostBuilder,
        workspace: Option<&Workspace>,
        session: &str,
    ) -> anyhow::Result<()> {
        if let Some(workspace) = workspace {
            if self.config.is_some() {
                host.agreements(workspace.clone());
            }
            host.results(workspace.session(session)?, self.plan.results)?;
            if let Some(name) = &self.plan.tokenizer {
                host.tokenizer(witbox::tokenizer(name)?);
            }
        }
        Ok(())
    }

    pub(super) fn start(&self, host: HostBuilder, report: &Report) -> anyhow::Result<Host> {
        let built = self.build(host)?;
        built.told().for_each(|told| report.note(&told));
        Ok(built.host)
    }

    pub(super) fn build(&self, mut host: HostBuilder) -> anyhow::Result<Built> {
        if let Some((config, _)) = &self.config {
            host.protect(config);
        }
        let mut left_out = host.plan(&self.plan, |name| std::env::var(name).ok());
        if self.config.is_none()
            && let Some(error) = left_out.pop()
        {
            return Err(error.into());
        }
        let mut notes = host.notes().to_vec();
        let host = host.build();
        if let (Some((config, _)), true) = (&self.config, host.registry().tools().is_empty()) {
            notes.push(format!("{}: no toolset has started, so that there is nothing to call", config.display()));
        }
        Ok(Built { host, left_out, notes })
    }
}

impl Built {
    /// What an operator is told.
    pub(super) fn told(&self) -> impl Iterator<Item = String> {
        let left_out = self.left_out.iter().map(|error| format!("left out: {error}"));
        left_out.chain(self.notes.iter().cloned())
    }
}

impl SourceArgs {
    /// Starts a host with the tools. Toolsets of a configuration that cannot start are left out and told.
    pub(super) fn open(&self, report: &Report) -> anyhow::Result<Host> {
        let mut planned = self.plan()?;
        let mut host = planned.builder(&planned.engine(Compiling::WhenAsked, report)?);
        // Of a component that is looked at alone, its tools alone are seen.
        if planned.config.is_some() {
            let workspace = planned.workspace(report)?;
            planned.keep_results(&mut host, workspace.as_ref(), DEFAULT_SESSION)?;
        }
        planned.start(host, report)
    }

    /// The workspace in which results of their calls are kept.
    pub(super) fn workspace(&self, report: &Report) -> anyhow::Result<Workspace> {
        self.plan()?.workspace(report)?.context("there is no workspace")
    }

    fn plan(&self) -> anyhow::Result<Planned> {
        self.check()?;
        if let Some(tool) = &self.component {
            let toolset = ToolsetPlan::new(toolset_name(tool), source(tool), self.grant()?);
            return Ok(Planned { plan: Plan::new(vec![toolset]), config: None, origin: tool.clone() });
        }
        let config = match &self.config {
            Some(file) => file.as_path(),
            None if Path::new(DEFAULT_CONFIG).exists() => Path::new(DEFAULT_CONFIG),
            None => bail!(
                "there is no {DEFAULT_CONFIG} in this folder; name a configuration with -c or a component with -t"
            ),
        };
        let text = read_text(config, MAX_CONFIG)?;
        let plan = plan_of(&text, config)?;
        Ok(Planned { plan, config: Some((config.to_owned(), text)), origin: config.to_owned() })
    }

    /// The same flags for a process that is started elsewhere: with the paths that they mean here.
    pub(super) fn absolute(&self) -> anyhow::Result<Vec<String>> {
        let planned = self.plan()?;
        let absolute = |path: &Path| {
            let path = std::path::absolute(path).with_context(|| path.display().to_string())?;
            mcp::text(&path)
        };
        let mut flags = match (&planned.config, &self.component) {
            (Some((config, _)), _) => vec!["-c".to_owned(), absolute(config)?],
            (None, Some(tool)) if matches!(source(tool), Source::Builtin(_)) => vec!["-t".to_owned(), mcp::text(tool)?],
            (None, _) => vec!["-t".to_owned(), absolute(&planned.origin)?],
        };
        for mount in
            planned.plan.toolsets.iter().flat_map(|toolset| toolset.grant.mounts()).filter(|_| planned.config.is_none())
        {
            let mode = if mount.mode() == Mode::ReadWrite { ":rw" } else { "" };
            flags.extend(["--mount".to_owned(), format!("{}:{}{mode}", absolute(mount.host())?, mount.guest())]);
        }
        let given = [
            ("--env", self.env.as_slice()),
            ("--allow-http", &self.allow_http),
            ("--allow-private-http", &self.allow_private_http),
            ("--fuel", self.fuel.as_slice()),
            ("--memory", self.memory.as_slice()),
            ("--timeout", self.timeout.as_slice()),
            ("--stream", self.stream.as_slice()),
        ];
        for (flag, values) in given {
            flags.extend(values.iter().flat_map(|value| [flag.to_owned(), value.clone()]));
        }
        Ok(flags)
    }

    /// Grants of the command line are for one component; a configuration has its own, and none of the two is ignored.
    fn check(&self) -> anyhow::Result<()> {
        let flags = [
            ("--mount", !self.mount.is_empty()),
            ("--env", !self.env.is_empty()),
            ("--allow-http", !self.allow_http.is_empty()),
            ("--allow-private-http", !self.allow_private_http.is_empty()),
            ("--fuel", self.fuel.is_some()),
            ("--memory", self.memory.is_some()),
            ("--timeout", self.timeout.is_some()),
            ("--stream", self.stream.is_some()),
        ];
        match flags.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) if self.component.is_none() => {
                bail!("{flag} goes with -t; a configuration says itself what it grants")
            }
            _ => Ok(()),
        }
    }

    fn grant(&self) -> anyhow::Result<Grant> {
        let mut limits = Limits::default();
        if let Some(fuel) = &self.fuel {
            limits.fuel = witbox::parse_fuel(fuel).context("--fuel")?;
        }
        if let Some(memory) = &self.memory {
            limits.memory = witbox::parse_bytes(memory).context("--memory")?;
        }
        if let Some(timeout) = &self.timeout {
            limits.timeout = witbox::parse_duration(timeout).context("--timeout")?;
        }
        if let Some(stream) = &self.stream {
            limits.stream = witbox::parse_bytes(stream).context("--stream")?;
        }
        let mut grant = Grant::default().limits(limits);
        for text in &self.mount {
            grant = grant.mount(parse_mount(text).with_context(|| format!("--mount {text}"))?);
        }
        for text in &self.env {
            let (name, value) = text.split_once('=').with_context(|| format!("--env {text}: expected K=V"))?;
            grant = grant.env(name, value);
        }
        for text in &self.allow_http {
            grant = grant.http(HttpRule::new(text.parse().context("--allow-http")?));
        }
        for text in &self.allow_private_http {
            grant = grant.http(HttpRule::new(text.parse().context("--allow-private-http")?).private());
        }
        Ok(grant)
    }
}

/// Reads a configuration.
pub(super) fn read_plan(file: &Path) -> anyhow::Result<Plan> {
    plan_of(&read_text(file, MAX_CONFIG)?, file)
}

/// The plan of a configuration's text.
pub(super) fn plan_of(text: &str, file: &Path) -> anyhow::Result<Plan> {
    let folder = file.parent().unwrap_or(Path::new(""));
    Ok(Plan::read(text, &file.display().to_string(), folder)?)
}

/// Compiles the component that a person named.
pub(super) fn load(engine: &Engine, tool: &Path) -> anyhow::Result<Component> {
    Component::load(engine, &source(tool)).with_context(|| tool.display().to_string())
}

/// What a person means by a component's name.
fn source(tool: &Path) -> Source {
    match tool.display().to_string().strip_prefix("builtin:") {
        Some(builtin) => Source::Builtin(builtin.to_owned()),
        None => Source::File(tool.to_owned()),
    }
}

/// A component's toolset is named by its file's stem.
pub(super) fn toolset_name(tool: &Path) -> String {
    let name = tool.display().to_string();
    match name.strip_prefix("builtin:") {
        Some(builtin) => builtin.to_owned(),
        None => witbox::toolset_name(&tool.file_stem().unwrap_or_default().to_string_lossy()),
    }
}

fn parse_mount(text: &str) -> anyhow::Result<Mount> {
    let (text, writable) = match text.strip_suffix(":rw") {
        Some(text) => (text, true),
        None => (text.strip_suffix(":ro").unwrap_or(text), false),
    };
    // A guest path holds no colon that a host path could not hold too, and starts with a slash.
    let (host, guest) = text.rsplit_once(':').context("expected HOST:GUEST or HOST:GUEST:rw")?;
    let guest: GuestPath = guest.parse()?;
    Ok(if writable { Mount::read_write(host, guest) } else { Mount::read_only(host, guest) })
}

/// Reads a text that was given as a file or, as `-`, on standard input; at most one byte more than `limit`.
pub(super) fn read_text(file: &Path, limit: usize) -> anyhow::Result<String> {
    let limit = limit as u64 + 1;
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().take(limit).read_to_end(&mut bytes).context("standard input")?;
    } else {
        let open = std::fs::File::open(file).with_context(|| file.display().to_string())?;
        open.take(limit).read_to_end(&mut bytes).with_context(|| file.display().to_string())?;
    }
    if bytes.len() as u64 == limit {
        bail!("{}: more than {} bytes", file.display(), limit - 1);
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow::anyhow!("{}: not UTF-8 at byte {at}", file.display())
    })
}
