//! What a server offers at a time: a host, and its tools as the protocol lists them.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::OnceLock;

use rmcp::model::Tool;

use crate::host::Host;
use crate::mcp::view;

/// How many tools a page of the list has. Few clients have more, and some read the first page only.
const PAGE: usize = 250;

pub(super) struct Offer {
    host: Host,
    listed: OnceLock<Listed>,
}

/// The tools as they are listed, made when somebody asks.
struct Listed {
    tools: Vec<Tool>,
    /// Tells one list from another.
    id: String,
}

/// A cursor that belongs to no list, or to one that is no more.
pub(super) struct StaleCursor;

impl Offer {
    pub(super) fn of(host: Host) -> Self {
        Offer { host, listed: OnceLock::new() }
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
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
            let tools = self.host.registry().tools().iter().filter_map(|tool| {
                let json = view::tool(tool);
                json.to_string().hash(&mut hasher);
                // The view is of the protocol's shape.
                serde_json::from_value(json).ok()
            });
            let tools = tools.collect();
            Listed { tools, id: format!("{:016x}", hasher.finish()) }
        })
    }
}
