//! What the guard would say of a request, without a guest and without the network.

use crate::error::{Error, Kind};
use crate::policy::{Grant, Target, Ungranted, allowing, is_never, is_public};
use crate::sandbox::Explanation;

/// Tells what the guard of the network would say of a request. It looks nothing up: what a name's addresses are is judged
/// when a call connects.
///
/// # Errors
/// An error that [`is_grant`](Error::is_grant) when the URL is none that could be sent.
///
/// ```
/// use witbox::{Grant, HttpRule};
///
/// # fn main() -> Result<(), witbox::Error> {
/// let grant = Grant::default().http(HttpRule::new("https://api.example/v1".parse()?));
/// assert!(witbox::explain_request(&grant, "GET", "https://api.example/v1/weather")?.allowed);
/// assert!(!witbox::explain_request(&grant, "GET", "https://api.example/v1/../admin")?.allowed);
/// # Ok(())
/// # }
/// ```
pub fn explain_request(grant: &Grant, method: &str, url: &str) -> Result<Explanation, Error> {
    let target = Target::of_url(url).map_err(|reason| Kind::Grant(format!("`{url}` is not sent: {reason}")))?;
    let refused = |rule: String, hint: Option<String>| Explanation::of_request(false, rule, target.shown(), hint);
    let rules = match allowing(grant.http_rules(), method, &target) {
        Ok(rules) => rules,
        Err(reason) => {
            let hint = match &reason {
                Ungranted::Never(_) => None,
                Ungranted::Path(_) => Some(format!("add it: http = [\"{}\"]", target.shown())),
                Ungranted::Method(_) => Some(format!("add \"{method}\" to the methods of that rule")),
                Ungranted::NoNetwork | Ungranted::NoOrigin => {
                    Some(format!("add it: http = [\"{}\"]", target.url.origin().ascii_serialization()))
                }
            };
            return Ok(refused(reason.to_string(), hint));
        }
    };
    let list: Vec<String> = rules.iter().map(|(number, rule)| format!("http rule {number}: {rule}")).collect();
    let may_be_private = rules.iter().any(|(_, rule)| rule.private);
    let address = match target.host() {
        url::Host::Domain(_) => None,
        url::Host::Ipv4(address) => Some(address.into()),
        url::Host::Ipv6(address) => Some(address.into()),
    };
    Ok(match address {
        Some(address) if is_never(address) => refused("link-local addresses are never reached".to_owned(), None),
        Some(address) if !may_be_private && !is_public(address) => {
            let hint = format!(
                "grant it with private = true: http = [{{ origin = \"{}\", private = true }}]",
                rules[0].1.origin()
            );
            refused("its address is not a public one".to_owned(), Some(hint))
        }
        _ => Explanation::of_request(true, list.join(", "), target.shown(), None),
    })
}
