//! What becomes of a change of the configuration or of a component while tools are served: all of it takes effect, or none.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::sync::mpsc::SyncSender;

use anyhow::bail;
use tokio::runtime::Handle;
use witbox::mcp::{Clients, Server};
use witbox::{Capacity, ClientPlan, Component, Host, HostBuilder, Plan, SecretSource, Source};

use super::serving::Serving;
use super::source::{Built, plan_of};
use super::wall::Inside;
use super::watcher::{Snapshot, Snapshots};

/// Who is served.
pub(super) enum Audience {
    /// Whoever is at the other end.
    One(Seat),
    /// The clients of the configuration.
    Clients(Clients, Vec<(ClientPlan, Seat)>),
}

/// Somebody's server, and the host whose tools it has.
pub(super) struct Seat {
    pub(super) server: Server,
    pub(super) host: Host,
    /// Of a client over HTTP.
    token: String,
    /// Why toolsets are left out.
    left_out: HashSet<String>,
}

/// Takes on what changes.
pub(super) struct Changes {
    pub(super) serving: Serving,
    pub(super) audience: Audience,
    pub(super) inside: Inside,
    /// Whether whoever asks over HTTP is served.
    pub(super) is_for_anybody: bool,
    pub(super) workers: Handle,
    /// Makes a server of a host, for a client that is new.
    pub(super) serve: Box<dyn Fn(&Host) -> Server + Send>,
    /// Who tells the operator.
    pub(super) teller: SyncSender<String>,
}

impl Changes {
    /// Takes on changes in a thread of its own, for as long as there are any.
    pub(super) fn take_on_all(mut self, mut snapshots: Snapshots) -> io::Result<()> {
        let thread = std::thread::Builder::new().name("witbox-changes".to_owned());
        thread.spawn(move || {
            // What was said since the last change that took effect is not said again.
            let mut told = HashSet::new();
            for snapshot in &mut snapshots {
                self.take_on(snapshot, &mut told);
            }
            if snapshots.are_wanted() {
                self.tell(
                    "the process that watches for changes has ended; they take effect at the next start".to_owned(),
                );
            }
        })?;
        Ok(())
    }

    /// Takes on a change, or says why not.
    fn take_on(&mut self, snapshot: Snapshot, told: &mut HashSet<String>) {
        let name = self.serving.origin().display().to_string();
        let news = match self.applied(snapshot) {
            Ok(None) => return,
            Ok(Some((what, notes))) => {
                told.retain(|before| notes.contains(before));
                if let Some(what) = what {
                    self.tell(format!("{name}: a change is in effect: {what}"));
                }
                notes
            }
            Err(error) => {
                vec![format!("{name}: a change is not in effect, and what was served before still is: {error:#}")]
            }
        };
        for note in news {
            if told.insert(note.clone()) {
                self.tell(note);
            }
        }
    }

    /// What nobody reads in time is left out.
    fn tell(&self, what: String) {
        let _ = self.teller.try_send(what);
    }

    /// What is served from now on, and what there is to say of it; nothing where nothing has changed.
    fn applied(&mut self, mut snapshot: Snapshot) -> anyhow::Result<Option<(Option<String>, Vec<String>)>> {
        let (plan, text) = match (snapshot.config.take(), self.serving.config()) {
            (Some(Ok(text)), Some((file, _))) => (plan_of(&text, file)?, Some(text)),
            (Some(Err(fault)), _) => bail!("{fault}"),
            _ => (self.serving.plan().clone(), None),
        };
        if plan == *self.serving.plan() && !self.has_news(&snapshot) {
            return Ok(None);
        }
        self.check_that_it_fits(&plan)?;
        let serving = self.serving.by(plan, text);
        let is_same_plan = serving.plan() == self.serving.plan();
        let (audience, notes) = self.audience.by(&serving, &snapshot, &self.serve)?;
        // What somebody must agree to first changes nothing yet.
        if is_same_plan && audience.has_same_components(&self.audience, serving.plan()) {
            return Ok(Some((None, notes)));
        }
        audience.serve(&self.workers)?;
        let what = Some(audience.to_string());
        (self.serving, self.audience) = (serving, audience);
        Ok(Some((what, notes)))
    }

    /// Whether a file says something that is not known.
    fn has_news(&self, snapshot: &Snapshot) -> bool {
        let is_other_component = |seat: &Seat| {
            self.serving.plan().toolsets.iter().any(|toolset| {
                let Source::File(file) = &toolset.source else { return false };
                let given = snapshot.files.get(file).map(|bytes| Component::digest_of(bytes));
                given.is_some_and(|given| seat.host.component(toolset).is_none_or(|has| has.digest() != given))
            })
        };
        match &self.audience {
            Audience::One(seat) => is_other_component(seat),
            Audience::Clients(_, all) => all.iter().any(|(client, seat)| {
                is_other_component(seat)
                    || token(client, snapshot).is_some_and(|token| token.ok().as_ref() != Some(&seat.token))
            }),
        }
    }

    /// What was decided when the process started stays as it is.
    fn check_that_it_fits(&self, plan: &Plan) -> anyhow::Result<()> {
        let before = self.serving.plan();
        // How much of it is kept ready for a call depends on the toolsets, and what takes more has it too.
        let capacity = Capacity { call_memory: before.capacity.call_memory, ..plan.capacity.clone() };
        let host = (&capacity, plan.max_component, plan.wall);
        let decided = [
            ("[workspace] dir", plan.workspace == before.workspace),
            ("[host]", host == (&before.capacity, before.max_component, before.wall)),
            ("answer to who may ask", plan.clients.is_empty() || !self.is_for_anybody),
        ];
        let mut missing: Vec<String> =
            decided.iter().filter(|(_, is_same)| !is_same).map(|(what, _)| format!("to take another {what}")).collect();
        missing.extend(self.inside.lacks(plan));
        if self.inside.is_walled() {
            let known: Vec<_> = before.toolsets.iter().flat_map(|toolset| &toolset.secrets).collect();
            let secrets = plan.toolsets.iter().flat_map(|toolset| &toolset.secrets);
            let unread =
                secrets.filter(|secret| !matches!(secret.source, SecretSource::Variable(_)) && !known.contains(secret));
            missing.extend(unread.map(|secret| format!("to read the secret `{}`", secret.name)));
        }
        match missing.is_empty() {
            true => Ok(()),
            false => bail!("start the server anew: it is no longer able to do what this needs: {}", missing.join(", ")),
        }
    }
}

impl Audience {
    /// The same by another plan, and what there is to say of it. Nobody is served by it yet.
    fn by(
        &self,
        serving: &Serving,
        snapshot: &Snapshot,
        serve: &dyn Fn(&Host) -> Server,
    ) -> anyhow::Result<(Self, Vec<String>)> {
        let seats = self.seats();
        let mut notes = Vec::new();
        let mut build = |client: Option<&ClientPlan>, own: Option<&Seat>| {
            let built = serving.build(client, |host| hand_over(&seats, own, snapshot, host))?;
            // What was left out before is left out still.
            let is_known = |error: &witbox::Error| seats.iter().any(|seat| seat.left_out.contains(&error.to_string()));
            match built.left_out.iter().find(|error| !is_known(error)) {
                Some(error) => bail!("{error}"),
                None => {
                    notes.extend(built.notes.iter().cloned());
                    Ok(built)
                }
            }
        };
        let audience = match self {
            Audience::One(seat) => {
                Audience::One(Seat::of(build(None, None)?, seat.token.clone(), |_| seat.server.clone()))
            }
            Audience::Clients(clients, all) => {
                let mut new = Vec::new();
                for client in serving.clients() {
                    let before = all.iter().find(|(before, _)| before.name == client.name);
                    let kept = before.filter(|(before, _)| before.token_file == client.token_file);
                    let token = match (token(client, snapshot), kept) {
                        (Some(token), _) => token?,
                        (None, Some((_, seat))) => seat.token.clone(),
                        (None, None) => client.token()?,
                    };
                    let before = before.map(|(_, seat)| seat);
                    let built = build(Some(client), before)?;
                    let server = |host: &Host| before.map_or_else(|| serve(host), |seat| seat.server.clone());
                    new.push((client.clone(), Seat::of(built, token, server)));
                }
                Audience::Clients(clients.clone(), new)
            }
        };
        Ok((audience, notes))
    }

    /// Serves it from now on.
    fn serve(&self, workers: &Handle) -> anyhow::Result<()> {
        if let Audience::Clients(clients, all) = self {
            clients.replace(all.iter().map(|(_, seat)| (seat.token.as_str(), seat.server.clone())))?;
        }
        for seat in self.seats() {
            seat.host.workers(workers.clone());
            seat.server.swap(seat.host.clone());
        }
        Ok(())
    }

    /// Whether each toolset of a plan has the component that it has in another audience of that plan, or none in both.
    fn has_same_components(&self, other: &Self, plan: &Plan) -> bool {
        let digests = |seat: &Seat| -> Vec<Option<String>> {
            let all = plan.toolsets.iter().map(|toolset| seat.host.component(toolset));
            all.map(|component| component.map(|component| component.digest().to_owned())).collect()
        };
        let all = |audience: &Self| -> Vec<_> {
            audience.seats().into_iter().map(|seat| (seat.token.clone(), digests(seat))).collect()
        };
        all(self) == all(other)
    }

    pub(super) fn seats(&self) -> Vec<&Seat> {
        match self {
            Audience::One(seat) => vec![seat],
            Audience::Clients(_, all) => all.iter().map(|(_, seat)| seat).collect(),
        }
    }
}

impl fmt::Display for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools = |seat: &Seat| format!("{} tools", seat.host.registry().tools().len());
        match self {
            Audience::One(seat) => write!(f, "{}", tools(seat)),
            Audience::Clients(_, all) => {
                let all: Vec<_> =
                    all.iter().map(|(client, seat)| format!("{} has {}", client.name, tools(seat))).collect();
                write!(f, "{}", all.join(", "))
            }
        }
    }
}

impl Seat {
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) fn of(built: Built, token: String, serve: impl FnOnce(&Host) -> Server) -> Self {
        let left_out = built.left_out.iter().map(ToString::to_string).collect();
        Seat { server: serve(&built.host), host: built.host, token, left_out }
    }
}

/// Gives a host what others have, before all what the one has whose place it takes, and what is new.
fn hand_over(seats: &[&Seat], own: Option<&Seat>, snapshot: &Snapshot, host: &mut HostBuilder) {
    for seat in seats.iter().copied().chain(own) {
        host.in_place_of(&seat.host);
    }
    for (file, bytes) in &snapshot.files {
        host.component_file(file, bytes.clone());
    }
}

/// The token of a client, where its file is another than at the start.
fn token(client: &ClientPlan, snapshot: &Snapshot) -> Option<Result<String, witbox::Error>> {
    let text = String::from_utf8_lossy(snapshot.files.get(&client.token_file)?);
    Some(client.token_of(&text))
}
