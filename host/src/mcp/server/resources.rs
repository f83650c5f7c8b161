//! What a client may read beside the tools' results: the files that results were moved into, and those of mounts that are shown.

use std::fmt;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;

use super::Inner;
use super::handler::stale_cursor;
use super::offer::Offer;
use crate::call::Status;
use crate::host::{Contents, Listing, Part, returned};
use crate::mcp::view::result_uri;
use crate::reply::RESULTS;
use crate::workspace::Session;

/// How many resources a page of the list has.
const PAGE: usize = 250;
/// How much is read at once where nothing is said, and at most, in bytes.
const MAX_READ: u64 = 1 << 20;
/// How resources are asked for, and ranges of them.
const RESULT: &str = "witbox:/results/{name}{?offset,limit}";
const FILE: &str = "witbox://{toolset}{+path}{?offset,limit}";
/// With what the addresses of files begin.
const FILES: &str = "witbox://";
/// What stands for itself in a path (RFC 3986, section 2.3).
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The session's results, the newest first, and then the files of mounts that are shown, in the toolsets' order.
pub(super) async fn list(
    server: &Inner,
    offer: &Arc<Offer>,
    cursor: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    let mut listed = ListResourcesResult::with_all_items(Vec::new());
    let mut start = match cursor {
        None => Some(Cursor::Results(None)),
        Some(cursor) => Some(Cursor::parse(&cursor).ok_or_else(stale_cursor)?),
    };
    while let Some(from) = start.take() {
        let room = PAGE - listed.resources.len();
        if room == 0 {
            listed.next_cursor = Some(from.to_string());
            break;
        }
        let (resources, next) = match &from {
            Cursor::Results(after) => results(offer.clone(), after.clone(), room).await?,
            Cursor::Mount { toolset, after } => files(server, offer, toolset, after.as_deref(), room).await?,
        };
        listed.resources.extend(resources);
        start = next.or_else(|| from.toolset_behind(offer));
    }
    Ok(listed)
}

/// Where a page of the list begins: behind what was listed last, so that what is new meanwhile moves nothing.
enum Cursor {
    Results(Option<String>),
    Mount { toolset: String, after: Option<String> },
}

impl Cursor {
    fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "result" => Some(Cursor::Results(Some(rest.to_owned()))),
            "mount" => {
                let (toolset, after) = rest.split_once(':')?;
                let after = Some(after.to_owned()).filter(|after| !after.is_empty());
                Some(Cursor::Mount { toolset: toolset.to_owned(), after })
            }
            _ => None,
        }
    }

    /// The start of what comes next once this is at its end.
    fn toolset_behind(&self, offer: &Offer) -> Option<Self> {
        let mut shown = offer.host().shown();
        let next = match self {
            Cursor::Results(_) => shown.next(),
            Cursor::Mount { toolset, .. } => shown.skip_while(|shown| shown != toolset).nth(1),
        };
        Some(Cursor::Mount { toolset: next?.to_owned(), after: None })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cursor::Results(after) => write!(f, "result:{}", after.as_deref().unwrap_or_default()),
            Cursor::Mount { toolset, after } => write!(f, "mount:{toolset}:{}", after.as_deref().unwrap_or_default()),
        }
    }
}

type Page = (Vec<Resource>, Option<Cursor>);

async fn results(offer: Arc<Offer>, after: Option<String>, room: usize) -> Result<Page, ErrorData> {
    apart(move || {
        let results = session(&offer).map(Session::results).transpose();
        let results = results.map_err(|error| ErrorData::internal_error(error.to_string(), None))?.unwrap_or_default();
        let start = match &after {
            None => 0,
            Some(last) => results.iter().position(|result| &result.name == last).map_or(results.len(), |at| at + 1),
        };
        let page: Vec<_> = results.iter().skip(start).take(room).collect();
        let next = page.last().filter(|_| results.len() > start + room);
        let next = next.map(|last| Cursor::Results(Some(last.name.clone())));
        let resources = page.into_iter().map(|result| {
            let uri = result_uri(&format!("{RESULTS}/{}", result.name));
            resource(uri, &result.name, result.bytes)
        });
        Ok((resources.collect(), next))
    })
    .await
}

async fn files(
    server: &Inner,
    offer: &Offer,
    toolset: &str,
    after: Option<&str>,
    room: usize,
) -> Result<Page, ErrorData> {
    let _running = server.begin();
    let (call, reply) = offer.host().list_shown(toolset, after, room).await.ok_or_else(stale_cursor)?;
    server.told(&call, &reply);
    let Some(Listing { files, more }) = returned(&reply) else {
        return Err(ErrorData::internal_error(format!("the mounts of {toolset}: {}", reply.text()), None));
    };
    let last = files.last().filter(|_| more).map(|file| file.path.clone());
    let next = last.map(|last| Cursor::Mount { toolset: toolset.to_owned(), after: Some(last) });
    let resources = files.into_iter().map(|file| {
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        resource(format!("{FILES}{toolset}{}", utf8_percent_encode(&file.path, PATH)), name, file.size)
    });
    Ok((resources.collect(), next))
}

fn resource(uri: String, name: &str, size: u64) -> Resource {
    let resource = Resource::new(uri, name).with_size(size);
    match media_type(name) {
        Some(kind) => resource.with_mime_type(kind),
        None => resource,
    }
}

pub(super) fn templates(offer: &Offer) -> ListResourceTemplatesResult {
    let range = "a range of its bytes: limit of them from offset on; of text, whole characters";
    let result = ResourceTemplate::new(RESULT, "result").with_title("A result that was too big");
    let result = result.with_description(format!("A file that a result was moved into, or {range}"));
    let file = ResourceTemplate::new(FILE, "file").with_title("A file of a toolset's mounts");
    let file = file.with_description(format!("A file as the toolset's tools see it, or {range}"));
    let are_shown = offer.host().shown().next().is_some();
    ListResourceTemplatesResult::with_all_items([result].into_iter().chain(are_shown.then_some(file)).collect())
}

/// Reads a resource, or a range of it.
pub(super) async fn read(server: &Inner, offer: &Arc<Offer>, uri: String) -> Result<ReadResourceResult, ErrorData> {
    let wanted = Wanted::of(&uri)?.ok_or_else(|| not_found(&uri))?;
    let (name, part) = match &wanted.what {
        What::Result(name) => (name.clone(), result(offer.clone(), name.clone(), &wanted, &uri).await?),
        What::File { toolset, path } => {
            let _running = server.begin();
            let read = offer.host().read_shown(toolset, path, wanted.offset, wanted.limit()).await;
            let (call, reply) = read.ok_or_else(|| not_found(&uri))?;
            server.told(&call, &reply);
            let Some(Part { size, contents }) = returned(&reply) else {
                return Err(match reply.status {
                    // Whether it is there or is not to be seen.
                    Status::ToolError => not_found(&uri),
                    _ => ErrorData::internal_error(format!("{uri}: {}", reply.text()), None),
                });
            };
            (path.clone(), (size, contents))
        }
    };
    let (size, contents) = part;
    wanted.check(size, &uri)?;
    let kind = media_type(&name);
    let contents = match contents {
        Contents::Text(text) => ResourceContents::text(text, &uri).with_mime_type(kind.unwrap_or("text/plain")),
        Contents::Bytes(bytes) => {
            ResourceContents::blob(bytes, &uri).with_mime_type(kind.unwrap_or("application/octet-stream"))
        }
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

fn not_found(uri: &str) -> ErrorData {
    ErrorData::resource_not_found(format!("there is no resource {uri} in this session"), Some(json!({"uri": uri})))
}

async fn result(offer: Arc<Offer>, name: String, wanted: &Wanted, uri: &str) -> Result<(u64, Contents), ErrorData> {
    let (offset, limit, uri) = (wanted.offset, wanted.limit(), uri.to_owned());
    apart(move || {
        let mut file =
            session(&offer).and_then(|session| session.open_result(&name).ok()).ok_or_else(|| not_found(&uri))?;
        let broken = |error: std::io::Error| ErrorData::internal_error(format!("{uri}: {error}"), None);
        let size = file.metadata().map_err(broken)?.len();
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(offset.min(size))).map_err(broken)?;
        // A few more, so that a character is whole.
        file.take(limit + 3).read_to_end(&mut bytes).map_err(broken)?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let is_text = media_type(&name).is_some_and(|kind| kind.starts_with("text/") || kind == "application/json");
        Ok((
            size,
            match text(&bytes, limit).filter(|_| is_text) {
                Some(text) => Contents::Text(text.to_owned()),
                None => Contents::Bytes(STANDARD.encode(bytes.get(..limit).unwrap_or(&bytes))),
            },
        ))
    })
    .await
}

/// Files are read where waiting for a disk holds nobody up.
async fn apart<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, ErrorData> + Send + 'static,
) -> Result<T, ErrorData> {
    let read = tokio::task::spawn_blocking(read).await;
    read.unwrap_or_else(|error| Err(ErrorData::internal_error(error.to_string(), None)))
}

fn session(offer: &Offer) -> Option<&Session> {
    offer.host().session()
}

/// A media type by a file's name, as far as somebody would want it: what is read says itself whether it is text.
fn media_type(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
        "txt" | "log" => "text/plain",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "wav" => "audio/wav",
        "mp3" => "audio/mpeg",
        _ => return None,
    })
}

/// The characters that begin within the first `limit` bytes; nothing where that is no text.
fn text(bytes: &[u8], limit: usize) -> Option<&str> {
    // The first may have begun before.
    let start = bytes.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    let bytes = bytes.get(start..)?;
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?,
        Err(_) => return None,
    };
    Some(text.get(..text.ceil_char_boundary(limit.saturating_sub(start).min(text.len()))).unwrap_or(text))
}

/// What of which resource.
struct Wanted {
    what: What,
    offset: u64,
    limit: Option<u64>,
}

enum What {
    Result(String),
    File { toolset: String, path: String },
}

impl Wanted {
    fn of(uri: &str) -> Result<Option<Self>, ErrorData> {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let decoded = |text: &str| Some(percent_decode_str(text).decode_utf8().ok()?.into_owned());
        let result = path.strip_prefix(&result_uri(RESULTS)).and_then(|name| name.strip_prefix('/'));
        let what = match (result, path.strip_prefix(FILES).and_then(|path| path.split_once('/'))) {
            (Some(name), _) => decoded(name).map(What::Result),
            (None, Some((toolset, path))) => {
                decoded(path).map(|path| What::File { toolset: toolset.to_owned(), path: format!("/{path}") })
            }
            (None, None) => None,
        };
        let Some(what) = what else { return Ok(None) };
        let mut wanted = Wanted { what, offset: 0, limit: None };
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let number = value
                .parse()
                .map_err(|_| ErrorData::invalid_params(format!("{key} of {uri} is no number of bytes"), None))?;
            match key {
                "offset" => wanted.offset = number,
                "limit" => wanted.limit = Some(number),
                _ => {
                    let told = format!("{uri}: there is no {key}; read it as {RESULT} or {FILE}");
                    return Err(ErrorData::invalid_params(told, None));
                }
            }
        }
        Ok(Some(wanted))
    }

    /// How many bytes are read.
    fn limit(&self) -> u64 {
        self.limit.unwrap_or(MAX_READ).min(MAX_READ)
    }

    /// Whoever asks for all of it gets all of it, or an error.
    fn check(&self, size: u64, uri: &str) -> Result<(), ErrorData> {
        if self.limit.is_some() || size.saturating_sub(self.offset) <= MAX_READ {
            return Ok(());
        }
        let told = format!(
            "{uri} has {size} bytes, and at most {MAX_READ} are read at once; read ranges, with ?offset=0&limit={MAX_READ}"
        );
        Err(ErrorData::invalid_params(told, None))
    }
}
