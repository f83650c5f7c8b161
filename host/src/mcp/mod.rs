//! The Model Context Protocol: its view of tools and of what comes of their calls, and a server.

#[cfg(feature = "mcp")]
mod server;
mod view;

#[cfg(feature = "mcp")]
pub use server::{Clients, Exposed, Http, Server};
pub use view::{result, tool};
