//! `witbox mcp config`: what a client's own configuration must say to start the server.

use std::path::Path;

use anyhow::{Context as _, bail};
use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::Exit;
use super::report::Report;
use super::source::SourceArgs;

/// Helps clients of the Model Context Protocol (MCP) to find the server
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Config(Config),
}

/// Prints the entry for a client's configuration; standard error says where it goes
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  witbox mcp config --client cursor -c witbox.toml\n  \
    witbox mcp config --client claude-code --url https://tools.example/mcp --token-env WITBOX_TOKEN")]
struct Config {
    #[command(flatten)]
    source: SourceArgs,

    /// Which client
    #[arg(long, value_enum)]
    client: Client,

    /// What the client calls the server
    #[arg(long, default_value = "witbox")]
    name: String,

    /// Whose results these are
    #[arg(long, value_name = "NAME")]
    session: Option<String>,

    /// The server's address, where it serves over HTTP: instead of starting one
    #[arg(long, value_name = "URL", conflicts_with_all = ["session", "config", "component"])]
    url: Option<String>,

    /// The environment variable that holds the token for it
    #[arg(long, value_name = "NAME", requires = "url")]
    token_env: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Client {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    Vscode,
    Codex,
    Zed,
}

/// How a client reaches the server.
enum Way {
    /// By starting it.
    Start {
        command: String,
        arguments: Vec<String>,
    },
    Url {
        url: String,
        token: Option<String>,
    },
}

pub(super) fn run(args: &Args, report: &Report) -> anyhow::Result<Exit> {
    let Command::Config(config) = &args.command;
    let way = config.way()?;
    let client = config.client;
    let text = match client {
        Client::Codex => way.toml(&config.name)?,
        client => serde_json::to_string_pretty(&way.json(client, &config.name)?)?,
    };
    report.json_text(&text)?;
    report.note(&format!("this goes into {}", client.file()));
    Ok(Exit::Ok)
}

impl Config {
    fn way(&self) -> anyhow::Result<Way> {
        if let Some(url) = &self.url {
            let parsed = url::Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
            parsed.with_context(|| format!("--url {url}: expected an address such as https://tools.example/mcp"))?;
            return Ok(Way::Url { url: url.clone(), token: self.token_env.clone() });
        }
        let command = std::env::current_exe().context("where this program is")?;
        let mut arguments = vec!["serve".to_owned()];
        arguments.extend(self.source.absolute()?);
        if let Some(session) = &self.session {
            arguments.extend(["--session".to_owned(), session.clone()]);
        }
        Ok(Way::Start { command: text(&command)?, arguments })
    }
}

impl Client {
    /// Where the entry goes.
    fn file(self) -> &'static str {
        match self {
            Client::ClaudeDesktop => {
                "claude_desktop_config.json, which Settings > Developer > Edit Config opens; then restart the program"
            }
            Client::ClaudeCode => ".mcp.json in the project's folder",
            Client::Cursor => ".cursor/mcp.json in the project's folder, or in the home folder for all projects",
            Client::Vscode => ".vscode/mcp.json in the project's folder",
            Client::Codex => "~/.codex/config.toml",
            Client::Zed => "settings.json, which `zed: open settings file` opens",
        }
    }

    /// How the client names a variable of its environment in a text.
    fn variable(self, name: &str) -> anyhow::Result<String> {
        Ok(match self {
            Client::ClaudeCode => format!("${{{name}}}"),
            Client::Cursor | Client::Vscode => format!("${{env:{name}}}"),
            Client::ClaudeDesktop | Client::Codex | Client::Zed => {
                bail!(
                    "this client takes no token from its environment: write the header into its configuration by hand"
                )
            }
        })
    }
}

impl Way {
    fn json(&self, client: Client, name: &str) -> anyhow::Result<Value> {
        let mut entry = match self {
            Way::Start { command, arguments } => json!({"command": command, "args": arguments}),
            Way::Url { url, token } => {
                if matches!(client, Client::ClaudeDesktop) {
                    bail!("this client reaches servers by address only as connectors, which its settings add");
                }
                let mut entry = json!({"url": url});
                if let Some(token) = token {
                    let value = format!("Bearer {}", client.variable(token)?);
                    entry["headers"] = json!({"Authorization": value});
                }
                entry
            }
        };
        if matches!(client, Client::ClaudeCode | Client::Vscode) {
            let kind = if matches!(self, Way::Start { .. }) { "stdio" } else { "http" };
            entry["type"] = json!(kind);
        }
        let key = match client {
            Client::Vscode => "servers",
            Client::Zed => "context_servers",
            _ => "mcpServers",
        };
        Ok(json!({key: {name: entry}}))
    }

    fn toml(&self, name: &str) -> anyhow::Result<String> {
        // Strings of JSON are strings of TOML.
        let quoted = |text: &str| serde_json::to_string(text);
        let mut lines = vec![format!("[mcp_servers.{}]", quoted(name)?)];
        match self {
            Way::Start { command, arguments } => {
                lines.push(format!("command = {}", quoted(command)?));
                lines.push(format!("args = {}", serde_json::to_string(arguments)?));
            }
            Way::Url { url, token } => {
                lines.push(format!("url = {}", quoted(url)?));
                if let Some(token) = token {
                    lines.push(format!("bearer_token_env_var = {}", quoted(token)?));
                }
            }
        }
        Ok(lines.join("\n"))
    }
}

/// A path as the text that a configuration can hold.
pub(super) fn text(path: &Path) -> anyhow::Result<String> {
    let path =
        path.to_str().with_context(|| format!("{}: no text, which a configuration could hold", path.display()))?;
    Ok(path.to_owned())
}
