//! Which operations on which of a guest's files are allowed: the first rule that matches decides.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};

/// What a guest may do with a file or a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Open it, list it, ask for its size and times, read where a link leads.
    Read,
    /// Create, change, truncate, delete or rename it, or set its times.
    Write,
}

/// What a rule does with an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// The operation goes ahead.
    Allow,
    /// The guest gets an error, and the operator a denial.
    Deny,
}

/// One rule: what it does with which operations on which paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FsRule {
    effect: Effect,
    operations: Vec<Operation>,
    patterns: Vec<PathPattern>,
}

/// A pattern of guest paths.
///
/// It is absolute. `*` and `?` stand for anything but `/`, `**` for any folders in between, `{a,b}` for one of several
/// and `[a-z]` for one of some characters. A dot at the start of a name is a character like any other. `/a/**` is `/a`
/// itself and all that is below it.
#[derive(Clone)]
pub struct PathPattern {
    text: String,
    matchers: Vec<GlobMatcher>,
    steps: Vec<Step>,
}

/// What a pattern asks of one name of a path.
#[derive(Clone)]
enum Step {
    Name(GlobMatcher),
    /// Any names, or none.
    Any,
}

/// A text that is no pattern.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no pattern of guest paths: {reason}")]
pub(crate) struct PatternError {
    text: String,
    reason: String,
}

/// What decides where no rule matches.
pub(crate) const NO_MATCH: &str = "no fs rule matched; add an allow last";

/// What the rules say of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) effect: Effect,
    /// The rule that decided, as its text.
    pub(crate) rule: String,
}

impl FsRule {
    /// A rule that allows operations on paths.
    pub fn allow(operations: &[Operation], patterns: Vec<PathPattern>) -> Self {
        FsRule { effect: Effect::Allow, operations: operations.to_vec(), patterns }
    }

    /// A rule that refuses them.
    pub fn deny(operations: &[Operation], patterns: Vec<PathPattern>) -> Self {
        FsRule { effect: Effect::Deny, ..FsRule::allow(operations, patterns) }
    }

    pub(crate) fn patterns(&self) -> &[PathPattern] {
        &self.patterns
    }

    fn speaks_of(&self, operation: Operation) -> bool {
        self.operations.contains(&operation)
    }
}

impl fmt::Display for FsRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operations: Vec<String> = self.operations.iter().map(ToString::to_string).collect();
        let patterns: Vec<&str> = self.patterns.iter().map(|pattern| pattern.text.as_str()).collect();
        write!(f, "{} {} on {}", self.effect, operations.join(" and "), patterns.join(", "))
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Effect::Allow => "allow",
            Effect::Deny => "deny",
        })
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Read => "read",
            Operation::Write => "write",
        })
    }
}

/// What the rules say of an operation on a path.
pub(crate) fn decide(rules: &[FsRule], operation: Operation, path: &str) -> Decision {
    let found = rules
        .iter()
        .enumerate()
        .find(|(_, rule)| rule.speaks_of(operation) && rule.patterns.iter().any(|pattern| pattern.matches(path)));
    match found {
        Some((index, rule)) => Decision { effect: rule.effect, rule: format!("fs rule {}: {rule}", index + 1) },
        None => Decision { effect: Effect::Deny, rule: NO_MATCH.to_owned() },
    }
}

/// Whether something below a folder may be read, so that a guest must be able to pass through the folder.
pub(crate) fn leads_to_readable(rules: &[FsRule], folder: &str) -> bool {
    for rule in rules.iter().filter(|rule| rule.speaks_of(Operation::Read)) {
        match rule.effect {
            Effect::Allow if rule.patterns.iter().any(|pattern| pattern.may_match_below(folder)) => return true,
            // Nothing below it comes to a later rule.
            Effect::Deny if rule.patterns.iter().any(|pattern| pattern.covers(folder)) => return false,
            _ => {}
        }
    }
    false
}

/// Whether one rule allows an operation on a path and on all that is below it, with no earlier rule in between.
pub(crate) fn allows_all_below(rules: &[FsRule], operation: Operation, path: &str) -> bool {
    for rule in rules.iter().filter(|rule| rule.speaks_of(operation)) {
        if rule.patterns.iter().any(|pattern| pattern.covers(path)) {
            return rule.effect == Effect::Allow;
        }
        let touches = |pattern: &PathPattern| pattern.matches(path) || pattern.may_match_below(path);
        if rule.patterns.iter().any(touches) {
            return false;
        }
    }
    false
}

impl PathPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, PatternError> {
        let refuse = |reason: &str| PatternError { text: text.to_owned(), reason: reason.to_owned() };
        let Some(relative) = text.strip_prefix('/') else {
            return Err(refuse("it must start with `/`"));
        };
        if text.contains('\0') {
            return Err(refuse("it must not hold a NUL"));
        }
        let names: Vec<&str> = relative.split('/').collect();
        if text != "/" && names.iter().any(|name| name.is_empty()) {
            return Err(refuse("it must not hold `//` or end with `/`"));
        }
        if names.iter().any(|name| matches!(*name, "." | "..")) {
            return Err(refuse("it must not hold `.` or `..`"));
        }
        let glob = |text: &str| {
            let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
            glob.map(|glob| glob.compile_matcher()).map_err(|error| refuse(&error.kind().to_string()))
        };
        let mut matchers = vec![glob(text)?];
        // A folder is one of the things below and including it.
        if let Some(folder) = text.strip_suffix("/**") {
            matchers.push(glob(if folder.is_empty() { "/" } else { folder })?);
        }
        let mut steps = Vec::new();
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            // A choice among paths of several names is cut apart here; from it on anything may match.
            let is_whole = name.matches('{').count() == name.matches('}').count();
            if name == "**" || !is_whole {
                steps.push(Step::Any);
                if !is_whole {
                    break;
                }
            } else {
                steps.push(Step::Name(glob(name)?));
            }
        }
        Ok(PathPattern { text: text.to_owned(), matchers, steps })
    }

    /// The pattern's text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn matches(&self, path: &str) -> bool {
        self.matchers.iter().any(|matcher| matcher.is_match(path))
    }

    /// Whether it matches a path and all that is below it, by its form: everything below a folder without wildcards.
    fn covers(&self, path: &str) -> bool {
        let Some(folder) = self.text.strip_suffix("/**") else { return false };
        let is_plain = !folder.contains(['*', '?', '[', '{', '\\']);
        is_plain && path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Whether it could match something below a folder.
    pub(crate) fn may_match_below(&self, folder: &str) -> bool {
        let mut steps = self.steps.iter();
        for name in folder.split('/').filter(|name| !name.is_empty()) {
            match steps.next() {
                Some(Step::Any) => return true,
                Some(Step::Name(matcher)) if matcher.is_match(name) => {}
                _ => return false,
            }
        }
        steps.next().is_some()
    }

    /// Whether it could match a folder or something below it.
    pub(crate) fn may_match_within(&self, folder: &str) -> bool {
        self.matches(folder) || self.may_match_below(folder)
    }
}

impl PartialEq for PathPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PathPattern {}

impl fmt::Debug for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PathPattern").field(&self.text).finish()
    }
}

impl std::str::FromStr for PathPattern {
    type Err = crate::error::Error;

    /// # Errors
    /// An error that [`is_syntax`](crate::Error::is_syntax) when the text is no absolute pattern, or holds `.` or `..`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(PathPattern::parse(text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> PathPattern {
        PathPattern::parse(text).unwrap()
    }

    #[test]
    fn patterns_match_what_they_say() {
        for (text, yes, no) in [
            ("/a/**", vec!["/a", "/a/b", "/a/.b/c", "/a/b c/\n"], vec!["/ab", "/", "/b/a"]),
            ("/**", vec!["/", "/a", "/a/b"], vec![]),
            ("/a/*", vec!["/a/b", "/a/.b"], vec!["/a", "/a/b/c"]),
            ("/a/?.txt", vec!["/a/b.txt", "/a/..txt"], vec!["/a/bb.txt", "/a//.txt"]),
            ("/a/**/b", vec!["/a/b", "/a/x/b", "/a/x/y/b"], vec!["/a/xb", "/a/b/c"]),
            ("/a/{b,c}/d", vec!["/a/b/d", "/a/c/d"], vec!["/a/bc/d"]),
            ("/a/{b/x,c}", vec!["/a/b/x", "/a/c"], vec!["/a/b"]),
            ("/a/[b-d]", vec!["/a/c"], vec!["/a/e", "/a/bc"]),
            ("/a/[!b]", vec!["/a/c"], vec!["/a/b", "/a//"]),
            (r"/a/\[...slug\]/**", vec!["/a/[...slug]", "/a/[...slug]/x"], vec!["/a/x"]),
            ("/", vec!["/"], vec!["/a"]),
        ] {
            for path in yes {
                assert!(pattern(text).matches(path), "{text} {path:?}");
            }
            for path in no {
                assert!(!pattern(text).matches(path), "{text} {path:?}");
            }
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "a", "a/**", "/a/../b", "/./a", "/a//b", "/a/", "/a/{b", "/a/[b", "/a\0"] {
            assert!(PathPattern::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_folder_on_the_way_is_known() {
        for (text, yes, no) in [
            ("/a/b/c", vec!["/", "/a", "/a/b"], vec!["/a/b/c", "/b", "/a/c"]),
            ("/a/*/c", vec!["/a/x"], vec!["/a/x/c", "/a/x/d"]),
            ("/a/**/c", vec!["/a", "/a/x/y"], vec!["/b"]),
            ("/a/{b/c,d}/e", vec!["/a/b", "/a/z"], vec!["/b"]),
        ] {
            for path in yes {
                assert!(pattern(text).may_match_below(path), "{text} {path}");
            }
            for path in no {
                assert!(!pattern(text).may_match_below(path), "{text} {path}");
            }
        }
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        use Operation::{Read, Write};
        let rules = [
            FsRule::deny(&[Read, Write], vec![pattern("/docs/private/**")]),
            FsRule::allow(&[Read], vec![pattern("/docs/**"), pattern("/more/*.txt")]),
            FsRule::deny(&[Read], vec![pattern("/docs/open")]),
        ];
        let effect = |operation, path| decide(&rules, operation, path).effect;
        assert_eq!(effect(Read, "/docs/open"), Effect::Allow);
        assert_eq!(effect(Read, "/docs/private"), Effect::Deny);
        assert_eq!(effect(Read, "/docs/private/x"), Effect::Deny);
        assert_eq!(effect(Read, "/docs/privately"), Effect::Allow);
        assert_eq!(effect(Write, "/docs/open"), Effect::Deny);
        assert_eq!(decide(&rules, Write, "/docs/open").rule, "no fs rule matched; add an allow last");
        assert_eq!(decide(&rules, Read, "/docs/private/x").rule, "fs rule 1: deny read and write on /docs/private/**");
        assert!(leads_to_readable(&rules, "/more") && !leads_to_readable(&rules, "/other"));
        assert!(leads_to_readable(&rules, "/docs") && !leads_to_readable(&rules, "/docs/private"));
        assert!(!allows_all_below(&rules, Read, "/docs"), "a part of it is denied");
        assert!(allows_all_below(&rules, Read, "/docs/public"));
        assert!(!allows_all_below(&rules, Write, "/docs/public"));
    }
}
