//! What hostile code could do under a grant, found out by running some.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::call::{Call, Status};
use crate::component::Component;
use crate::config::ToolsetPlan;
use crate::error::Error;
use crate::host::{Host, HostBuilder};
use crate::policy::{Grant, Mode, Mount, Operation};
use crate::reply::Reply;
use crate::sandbox::explain;

/// The most files of a mount that are looked at, and how many are told by name.
const MAX_FILES: u64 = 20_000;
const SAMPLE: u32 = 5;

/// What is never granted: each must be refused, whatever the grant.
const NEVER: [(&str, &str, &str); 6] = [
    ("connect", "address", "127.0.0.1:22"),
    ("connect", "address", "169.254.169.254:80"),
    ("resolve", "name", "localhost"),
    ("fetch", "url", "http://169.254.169.254/latest/meta-data/"),
    ("fetch", "url", "http://[fd00:ec2::254]/latest/meta-data/"),
    ("fetch", "url", "http://metadata.google.internal/computeMetadata/v1/"),
];

/// What hostile code could do under a toolset's grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Exposure {
    /// What it finds in each mount.
    pub mounts: Vec<MountExposure>,
    /// The requests that it could send, as the grant has them.
    pub requests: Vec<String>,
    /// The secrets that its requests carry, and where.
    pub secrets: Vec<String>,
    /// The secrets that it holds itself.
    pub exposed: Vec<String>,
    /// The environment variables that it sees.
    pub variables: Vec<String>,
    /// What each of its calls may use.
    pub limits: CallLimits,
    /// What it tried and was refused.
    pub refused: Vec<String>,
    /// What it tried and reached though nothing grants it: a fault of witbox's.
    pub unexpected: Vec<String>,
}

/// What hostile code finds in a mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MountExposure {
    /// Where the guest sees it.
    pub guest: String,
    /// The folder on the host.
    pub host: String,
    /// `ro` or `rw`.
    pub mode: String,
    /// How many folders could be listed.
    pub folders: u64,
    /// How many files were seen.
    pub files: u64,
    /// How many of them could be read.
    pub readable: u64,
    /// How many of them could be changed.
    pub writable: u64,
    /// How many bytes those that could be read have.
    pub bytes: u64,
    /// Some that could be read.
    pub sample_readable: Vec<String>,
    /// Some that could be changed.
    pub sample_writable: Vec<String>,
    /// Whether these are all that there are.
    pub complete: bool,
    /// What could be added at its top; nothing where nothing could.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub could_add: Option<Quota>,
    /// Why it was not looked at to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What calls may add to a mount in all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Quota {
    /// Files and folders.
    pub files: u64,
    /// Bytes by which files grow.
    pub bytes: u64,
}

/// What one call may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CallLimits {
    /// Engine fuel units.
    pub fuel: u64,
    /// Bytes of memory.
    pub memory: u64,
    /// Wall clock, in milliseconds.
    pub timeout_ms: u64,
    /// HTTP requests.
    pub requests: u64,
    /// Bytes of their bodies.
    pub upload: u64,
    /// Bytes of their responses' bodies.
    pub download: u64,
}

/// What the probe returns of a folder.
#[derive(Debug, Default, Deserialize)]
struct Survey {
    folders: u64,
    files: u64,
    readable: u64,
    writable: u64,
    bytes: u64,
    sample_readable: Vec<String>,
    sample_writable: Vec<String>,
    complete: bool,
}

impl HostBuilder {
    /// Runs the built-in probe in place of a toolset's component, under the toolset's grant without its secrets. Files are
    /// opened and not written to; requests are tried only where nothing may grant them.
    ///
    /// # Errors
    /// An error that [`is_toolset`](Error::is_toolset) when the toolset could not start.
    pub async fn probe(mut self, toolset: &ToolsetPlan) -> Result<Exposure, Error> {
        self.keep_files(toolset);
        let component = Component::builtin(self.engine(), "probe")?;
        self.toolset("probe", &component, toolset.grant.clone())?;
        let host = self.build();
        let grant = &toolset.grant;
        let mut mounts = Vec::new();
        for mount in grant.mounts() {
            mounts.push(survey(&host, grant, mount).await?);
        }
        let (mut refused, mut unexpected) = (Vec::new(), Vec::new());
        for (function, parameter, value) in NEVER {
            let reply = run(&host, function, &json!({ parameter: value })).await;
            match outcome(&reply) {
                Ok(got) => unexpected.push(format!("{function} {value}: {got}")),
                Err(error) => refused.push(format!("{function} {value}: {error}")),
            }
        }
        let exposed = toolset.secrets.iter().filter(|secret| secret.exposed);
        let spent = toolset.secrets.iter().filter_map(|secret| {
            let (origin, header, _) = secret.spent.as_ref()?;
            Some(format!("{} at {origin} as `{header}`", secret.name))
        });
        let variables = outcome(&run(&host, "environment", &json!({})).await).unwrap_or_default();
        let limits = grant.call_limits();
        Ok(Exposure {
            mounts,
            requests: grant.http_rules().iter().map(request).collect(),
            secrets: spent.collect(),
            exposed: exposed.map(|secret| secret.name.clone()).collect(),
            variables: variables.lines().map(str::to_owned).collect(),
            limits: CallLimits {
                fuel: limits.fuel,
                memory: limits.memory,
                timeout_ms: u64::try_from(limits.timeout.as_millis()).unwrap_or(u64::MAX),
                requests: limits.requests,
                upload: limits.upload,
                download: limits.download,
            },
            refused,
            unexpected,
        })
    }
}

fn request(rule: &crate::policy::HttpRule) -> String {
    let private = if rule.private { ", also at private addresses" } else { "" };
    let methods = if rule.methods.is_some() { "" } else { " (any method but CONNECT and TRACE)" };
    format!("{rule}{methods}{private}")
}

async fn survey(host: &Host, grant: &Grant, mount: &Mount) -> Result<MountExposure, Error> {
    let arguments = json!({"path": mount.guest.as_str(), "most": MAX_FILES, "sample": SAMPLE});
    let reply = run(host, "survey_folder", &arguments).await;
    let value = reply.structured.as_ref().map(|value| value.get()).unwrap_or_default();
    let found: Result<Survey, _> = serde_json::from_str(value);
    let failure = found.is_err().then(|| format!("{}: {}", reply.status, reply.text()));
    let found = found.unwrap_or_default();
    // A name that nobody has given to anything.
    let new = format!("{}/a-new-file-of-hostile-code", mount.guest.as_str().trim_end_matches('/'));
    let may_add = explain(grant, Operation::Write, &new.parse()?)?.allowed;
    Ok(MountExposure {
        guest: mount.guest.to_string(),
        host: mount.host.display().to_string(),
        mode: if mount.mode == Mode::ReadWrite { "rw" } else { "ro" }.to_owned(),
        folders: found.folders,
        files: found.files,
        readable: found.readable,
        writable: found.writable,
        bytes: found.bytes,
        sample_readable: found.sample_readable,
        sample_writable: found.sample_writable,
        complete: found.complete,
        could_add: may_add.then_some(Quota { files: mount.max_files, bytes: mount.max_bytes }),
        failure,
    })
}

async fn run(host: &Host, function: &str, arguments: &Value) -> Reply {
    host.call(Call::new("probe", format!("probe_{function}"), arguments.to_string())).await
}

/// What an attempt of the probe came to.
fn outcome(reply: &Reply) -> Result<String, String> {
    let value: Option<Value> = reply.structured.as_ref().and_then(|value| serde_json::from_str(value.get()).ok());
    let text = |key: &str| value.as_ref()?.get(key)?.as_str().map(str::to_owned);
    match (text("allowed"), text("refused")) {
        (Some(text), _) if reply.status == Status::Ok => Ok(text),
        (_, Some(text)) => Err(text),
        _ => Err(format!("{}: {}", reply.status, reply.text())),
    }
}
