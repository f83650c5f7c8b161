//! Names of toolsets and tools.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::{Export, Tool};

/// The longest name that every provider takes, in characters.
const MAX_NAME: usize = 64;
/// The longest toolset name, in characters, so that a tool's own name always has room.
const MAX_TOOLSET_NAME: usize = 32;

/// A toolset's name: `[a-z][a-z0-9-]*`, at most 32 characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ToolsetName(String);

/// A name that is none, or two tools that would share one.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NameError {
    #[error(
        "`{0}` is no toolset name: use lower-case letters, digits and `-`, a letter first, {MAX_TOOLSET_NAME} at most"
    )]
    Toolset(String),
    #[error("{first} and {second} would both be the tool `{name}`; rename one of the toolsets")]
    Taken { name: String, first: String, second: String },
    #[error("its exports {first} and {second} would both be the tool `{name}`; one of them must be renamed in its WIT")]
    Doubled { name: String, first: String, second: String },
}

impl ToolsetName {
    pub(crate) fn parse(text: &str) -> Result<Self, NameError> {
        let letters = text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if !letters || text.len() > MAX_TOOLSET_NAME {
            return Err(NameError::Toolset(text.to_owned()));
        }
        Ok(ToolsetName(text.to_owned()))
    }

    fn from_stem(stem: &str) -> Self {
        let mut name = String::new();
        for c in stem.chars().map(|c| c.to_ascii_lowercase()) {
            match c {
                'a'..='z' => name.push(c),
                '0'..='9' if !name.is_empty() => name.push(c),
                _ if name.is_empty() || name.ends_with('-') => {}
                _ => name.push('-'),
            }
        }
        name.truncate(MAX_TOOLSET_NAME);
        let name = name.trim_end_matches('-');
        ToolsetName(if name.is_empty() { "tool".to_owned() } else { name.to_owned() })
    }
}

impl fmt::Display for ToolsetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The toolset name that a file's stem becomes: lower-case, and `-` for what is not allowed in one.
///
/// ```
/// assert_eq!(witbox::toolset_name("Weather_v2"), "weather-v2");
/// ```
pub fn toolset_name(stem: &str) -> String {
    ToolsetName::from_stem(stem).0
}

/// Names the tools of one toolset: `toolset_function`, and where two interfaces offer the function as much more of
/// where it is from as tells them apart.
///
/// # Errors
/// Two functions that share a name even so.
pub(crate) fn name_tools(tools: Vec<Tool>) -> Result<Vec<Arc<Tool>>, NameError> {
    let mut precision: Vec<usize> = vec![0; tools.len()];
    for level in 1..LEVELS {
        let mut holders: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, tool) in tools.iter().enumerate() {
            holders.entry(full_name(tool, precision[index])).or_default().push(index);
        }
        for holders in holders.into_values().filter(|holders| holders.len() > 1) {
            for index in holders {
                precision[index] = level;
            }
        }
    }
    let mut taken: HashMap<String, Export> = HashMap::new();
    let mut named = Vec::with_capacity(tools.len());
    for (tool, precision) in tools.into_iter().zip(precision) {
        let full = full_name(&tool, precision);
        let name = cut(full.clone());
        if let Some(first) = taken.insert(name.clone(), tool.export.clone()) {
            return Err(NameError::Doubled { name, first: first.to_string(), second: tool.export.to_string() });
        }
        named.push(tool.named(name, &full));
    }
    Ok(named)
}

/// How much a name can say of a function: itself, its interface, the interface's package, the package's version.
const LEVELS: usize = 4;

fn full_name(tool: &Tool, precision: usize) -> String {
    let mut parts = vec![tool.toolset.clone()];
    if let Some(interface) = &tool.export.interface {
        // namespace:package/name@version, or a plain name.
        let (path, version) = interface.split_once('@').unwrap_or((interface, ""));
        let (package, name) = path.rsplit_once('/').unwrap_or(("", path));
        if precision >= 2 && !package.is_empty() {
            parts.push(package.replace([':', '/'], "_"));
        }
        if precision >= 1 {
            parts.push(name.to_owned());
        }
        if precision >= 3 && !version.is_empty() {
            parts.push(version.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
        }
    }
    parts.push(tool.export.function.clone());
    parts.join("_").replace('-', "_")
}

/// A name that is too long keeps its start and gets eight hexadecimal digits of its SHA-256.
pub(super) fn cut(name: String) -> String {
    if name.len() <= MAX_NAME {
        return name;
    }
    let mut suffix = hex::encode(Sha256::digest(name.as_bytes()));
    suffix.truncate(8);
    // WIT names are ASCII, and so is every byte here.
    let start: String = name.chars().take(MAX_NAME - 1 - suffix.len()).collect();
    format!("{start}_{suffix}")
}

#[cfg(test)]
mod tests {
    use super::super::ToolDocs;
    use super::*;

    fn tool(interface: &str, function: &str) -> Tool {
        Tool {
            name: String::new(),
            toolset: "demo".to_owned(),
            export: Export {
                interface: (!interface.is_empty()).then(|| interface.to_owned()),
                function: function.to_owned(),
            },
            title: None,
            hints: crate::component::Hints::default(),
            docs: ToolDocs::default(),
            params: Vec::new(),
            returns: None,
            fallible: None,
            is_command: false,
            is_whole: false,
        }
    }

    fn names(exports: &[(&str, &str)]) -> Result<Vec<String>, NameError> {
        let tools = exports.iter().map(|(interface, function)| tool(interface, function)).collect();
        Ok(name_tools(tools)?.iter().map(|tool| tool.name().to_owned()).collect())
    }

    #[test]
    fn a_name_says_as_much_as_tells_it_apart() {
        let found = names(&[
            ("", "get-it"),
            ("a:p/one@1.0.0", "only-here"),
            ("a:p/one@1.0.0", "two-places"),
            ("a:p/two@1.0.0", "two-places"),
            ("a:p/same@1.0.0", "two-packages"),
            ("a:q/same@1.0.0", "two-packages"),
            ("a:p/same@1.0.0", "two-versions"),
            ("a:p/same@2.0.0-rc1", "two-versions"),
        ]);
        assert_eq!(
            found.unwrap(),
            [
                "demo_get_it",
                "demo_only_here",
                "demo_one_two_places",
                "demo_two_two_places",
                "demo_a_p_same_two_packages",
                "demo_a_q_same_two_packages",
                "demo_a_p_same_1_0_0_two_versions",
                "demo_a_p_same_2_0_0_rc1_two_versions",
            ]
        );
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let long = "x".repeat(200);
        let found = names(&[("", &format!("{long}a")), ("", &format!("{long}b"))]).unwrap();
        assert!(found.iter().all(|name| name.len() == MAX_NAME), "{found:?}");
        assert_ne!(found[0], found[1]);
    }

    #[test]
    fn names_that_collide_even_so_are_an_error_that_shows_both() {
        let error = names(&[("a:b-c/i", "f"), ("a-b:c/i", "f")]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("a:b-c/i#f") && text.contains("a-b:c/i#f"), "{text}");
    }

    #[test]
    fn a_stem_becomes_a_name() {
        for (stem, name) in
            [("Weather_v2", "weather-v2"), ("2fast", "fast"), ("..", "tool"), ("a--b-", "a-b"), ("ünï", "n")]
        {
            assert_eq!(ToolsetName::from_stem(stem).to_string(), name, "{stem}");
            assert!(ToolsetName::parse(name).is_ok());
        }
        for bad in ["", "A", "1a", "a_b", "-a", "a b", "é"] {
            assert!(ToolsetName::parse(bad).is_err(), "{bad}");
        }
    }
}
