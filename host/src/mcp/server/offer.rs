//! What a server offers at a time: a host, and its tools as the protocol lists them.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, OnceLock};

use rmcp::model::Tool;
use serde_json::Value;
use tokio::sync::watch;

use super::search::{self, Search};
use crate::host::Host;
use crate::mcp::view;

/// How many tools a page of the list has. Few clients have more, and some read the first page only.
const PAGE: usize = 250;

/// What of a host's tools a client is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Exposed {
    /// All of them.
    #[default]
    Tools,
    /// One tool that finds the others, `find_tools`, one that calls what was found, `call_tool`, and those that page results:
    /// where there are hundreds, their schemas would fill a model's window.
    Search,
}

pub(super) struct Offer {
    host: Host,
    exposed: Exposed,
    search: Search,
    listed: OnceLock<Listed>,
    /// The most bytes of arguments that any of its tools takes.
    largest_input: u64,
}

/// The tools as they are listed, made when somebody asks.
struct Listed {
    tools: Vec<Tool>,
    /// Tells one list from another.
    id: String,
}

/// The lists that take each other's place, as whoever is told of them knows them.
pub(super) struct Changes {
    offers: watch::Receiver<Arc<Offer>>,
    known: Arc<Offer>,
}

impl Changes {
    pub(super) fn of(mut offers: watch::Receiver<Arc<Offer>>) -> Self {
        let known = offers.borrow_and_update().clone();
        Changes { offers, known }
    }

    /// Ends when there is another list, and never where there will be none.
    pub(super) async fn next(&mut self) {
        while self.offers.changed().await.is_ok() {
            let offer = self.offers.borrow_and_update().clone();
            let is_other = offer.id() != self.known.id();
            self.known = offer;
            if is_other {
                return;
            }
        }
        std::future::pending().await
    }
}

/// A cursor that belongs to no list, or to one that is no more.
pub(super) struct StaleCursor;

impl Offer {
    pub(super) fn of(host: Host, exposed: Exposed) -> Self {
        let largest_input = host.largest_input();
        Offer { host, exposed, search: Search::default(), listed: OnceLock::new(), largest_input }
    }

    pub(super) fn largest_input(&self) -> u64 {
        self.largest_input
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    /// What finds its tools, where that is how they are shown.
    pub(super) fn search(&self) -> Option<&Search> {
        (self.exposed == Exposed::Search).then_some(&self.search)
    }

    /// What tells this list from another.
    pub(super) fn id(&self) -> &str {
        &self.listed().id
    }

    /// A page of the tools, and the cursor of the next.
    pub(super) fn page(&self, cursor: Option<&str>) -> Result<(Vec<Tool>, Option<String>), StaleCursor> {
        let Listed { tools, id } = self.listed();
        let start = match cursor {
            None => 0,
            Some(cursor) => {
                let (of, start) = cursor.split_once('-').ok_or(StaleCursor)?;
                start.parse().ok().filter(|start| of == id && *start < tools.len()).ok_or(StaleCursor)?
            }
        };
        let end = tools.len().min(start + PAGE);
        let next = (end < tools.len()).then(|| format!("{id}-{end}"));
        Ok((tools.get(start..end).unwrap_or_default().to_vec(), next))
    }

    fn listed(&self) -> &Listed {
        self.listed.get_or_init(|| {
            let mut hasher = DefaultHasher::new();
            let registry = self.host.registry();
            let listed: Vec<Value> = match self.exposed {
                Exposed::Tools => registry.tools().iter().map(|tool| view::tool(tool)).collect(),
                Exposed::Search => {
                    let pagers = self.host.pagers().filter_map(|name| registry.get(name));
                    search::listed(registry).into_iter().chain(pagers.map(|tool| view::tool(tool))).collect()
                }
            };
            let tools = listed.into_iter().filter_map(|tool| {
                tool.hash(&mut hasher);
                // The view is of the protocol's shape.
                serde_json::from_value(tool).ok()
            });
            let tools = tools.collect();
            Listed { tools, id: format!("{:016x}", hasher.finish()) }
        })
    }
}
