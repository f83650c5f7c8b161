//! What a client may read beside the tools' results: the files that results were moved into.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;

use super::Offer;
use crate::mcp::view::result_uri;
use crate::reply::RESULTS;
use crate::workspace::Session;

/// How many resources a page of the list has.
const PAGE: usize = 250;
/// How much is read at once where nothing is said, and at most, in bytes.
const MAX_READ: u64 = 1 << 20;
/// What a range is asked for by.
const TEMPLATE: &str = "witbox:/results/{name}{?offset,limit}";

/// The session's results, the newest first.
pub(super) async fn list(offer: Arc<Offer>, cursor: Option<String>) -> Result<ListResourcesResult, ErrorData> {
    apart(move || {
        let results = session(&offer).map(Session::results).transpose();
        let results = results.map_err(|error| ErrorData::internal_error(error.to_string(), None))?.unwrap_or_default();
        // A cursor is the name of the last that was listed, so that what is new meanwhile moves nothing.
        let start = match &cursor {
            None => 0,
            Some(last) => results.iter().position(|result| &result.name == last).map_or(results.len(), |at| at + 1),
        };
        let page: Vec<_> = results.iter().skip(start).take(PAGE).collect();
        let next = page.last().filter(|_| results.len() > start + PAGE).map(|last| last.name.clone());
        let resources = page.into_iter().map(|result| {
            let uri = result_uri(&format!("{RESULTS}/{}", result.name));
            Resource::new(uri, &result.name).with_mime_type(mime_type(&result.name)).with_size(result.bytes)
        });
        let mut listed = ListResourcesResult::with_all_items(resources.collect());
        listed.next_cursor = next;
        Ok(listed)
    })
    .await
}

pub(super) fn templates() -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new(TEMPLATE, "result").with_title("A result that was too big").with_description(
        "A range of a file that a result was moved into: limit bytes from offset on; of text, whole characters",
    );
    ListResourceTemplatesResult::with_all_items(vec![template])
}

/// Reads a result, or a range of it.
pub(super) async fn read(offer: Arc<Offer>, uri: String) -> Result<ReadResourceResult, ErrorData> {
    apart(move || {
        let not_found = || {
            ErrorData::resource_not_found(
                format!("there is no resource {uri} in this session"),
                Some(json!({"uri": uri})),
            )
        };
        let wanted = Wanted::of(&uri)?.ok_or_else(not_found)?;
        let mut file = session(&offer).ok_or_else(not_found)?.open_result(&wanted.name).map_err(|_| not_found())?;
        let broken = |error: std::io::Error| ErrorData::internal_error(format!("{uri}: {error}"), None);
        let size = file.metadata().map_err(broken)?.len();
        let limit = match wanted.limit {
            None if size.saturating_sub(wanted.offset) > MAX_READ => {
                return Err(ErrorData::invalid_params(
                    format!(
                        "{uri} has {size} bytes, and at most {MAX_READ} are read at once; read ranges, as {TEMPLATE}"
                    ),
                    None,
                ));
            }
            limit => limit.unwrap_or(MAX_READ).min(MAX_READ),
        };
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(wanted.offset.min(size))).map_err(broken)?;
        // A few more, so that a character is whole.
        file.take(limit + 3).read_to_end(&mut bytes).map_err(broken)?;
        let kind = mime_type(&wanted.name);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let contents = match text(&bytes, limit).filter(|_| kind.starts_with("text/") || kind == "application/json") {
            Some(text) => ResourceContents::text(text, &uri),
            None => ResourceContents::blob(STANDARD.encode(bytes.get(..limit).unwrap_or(&bytes)), &uri),
        };
        Ok(ReadResourceResult::new(vec![contents.with_mime_type(kind)]))
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

/// A result's media type, by its name, which says what was found in it when it was written.
fn mime_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, kind)| kind) {
        Some("txt") => "text/plain",
        Some("json") => "application/json",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        _ => "application/octet-stream",
    }
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

/// What of which result.
struct Wanted {
    name: String,
    offset: u64,
    limit: Option<u64>,
}

impl Wanted {
    fn of(uri: &str) -> Result<Option<Self>, ErrorData> {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let Some(name) = path.strip_prefix(&result_uri(RESULTS)).and_then(|name| name.strip_prefix('/')) else {
            return Ok(None);
        };
        let name = percent_decode_str(name).decode_utf8_lossy().into_owned();
        let mut wanted = Wanted { name, offset: 0, limit: None };
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let number = value
                .parse()
                .map_err(|_| ErrorData::invalid_params(format!("{key} of {uri} is no number of bytes"), None))?;
            match key {
                "offset" => wanted.offset = number,
                "limit" => wanted.limit = Some(number),
                _ => {
                    return Err(ErrorData::invalid_params(
                        format!("{uri}: there is no {key}; read it as {TEMPLATE}"),
                        None,
                    ));
                }
            }
        }
        Ok(Some(wanted))
    }
}
