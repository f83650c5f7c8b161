//! Patterns of guest paths.

use std::fmt;

use glob::{MatchOptions, Pattern};

/// The longest pattern, in bytes, and the most paths that its choices may make of it.
const MAX_TEXT: usize = 1_024;
const MAX_CHOICES: usize = 256;

const OPTIONS: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: false };

/// A pattern of guest paths.
///
/// It is absolute. `*` and `?` stand for any and for one character but `/`, `**` between slashes for any folders in
/// between, `{a,b}` for one of several texts and `[a-z]` or `[!a-z]` for one of some characters; `[*]` is a star. A dot at
/// the start of a name is a character like any other. `/a/**` is `/a` itself and all that is below it.
#[derive(Clone, PartialEq, Eq)]
pub struct PathPattern {
    text: String,
    /// One for each of the choices in braces.
    choices: Vec<Choice>,
}

/// One of the texts that a pattern stands for, name by name.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Choice {
    steps: Vec<Step>,
}

#[derive(Clone, PartialEq, Eq)]
enum Step {
    Name(Pattern),
    /// `**`: any names, or none.
    Names,
}

/// A text that is no pattern.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no pattern of guest paths: {reason}")]
pub(crate) struct PatternError {
    text: String,
    reason: String,
}

impl PathPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, PatternError> {
        let shown = || text.chars().take(80).collect();
        let refuse = |reason: String| PatternError { text: shown(), reason };
        if text.len() > MAX_TEXT {
            return Err(refuse(format!("it has more than {MAX_TEXT} bytes")));
        }
        let choices = choices(text).map_err(refuse)?;
        let choices = choices.iter().map(|choice| Choice::parse(choice)).collect::<Result<_, _>>().map_err(refuse)?;
        Ok(PathPattern { text: text.to_owned(), choices })
    }

    /// The pattern's text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// A pattern that matches a path and nothing else.
    pub(crate) fn literal(path: &str) -> String {
        path.chars().fold(String::new(), |pattern, c| match c {
            '*' | '?' | '[' | ']' | '{' | '}' => format!("{pattern}[{c}]"),
            c => format!("{pattern}{c}"),
        })
    }

    pub(super) fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// Whether it matches a path.
    pub(crate) fn matches_path(&self, path: &str) -> bool {
        let is_end = |choice: &Choice| choice.reached(path).into_iter().any(|step| choice.is_end(step));
        self.choices.iter().any(is_end)
    }

    /// Whether it matches all that another one does, as far as that can be told from their names one by one.
    pub(super) fn includes(&self, other: &PathPattern) -> bool {
        other.choices.iter().all(|choice| self.choices.iter().any(|own| own.includes(choice)))
    }

    /// Whether it could match a folder or something below it.
    pub(crate) fn may_match_within(&self, folder: &str) -> bool {
        self.choices.iter().any(|choice| !choice.reached(folder).is_empty())
    }
}

/// A choice is matched as an automaton whose states are its steps: those that are reached after some names of a path say
/// what it makes of that path and of all below it. The cost of a name is at most the number of steps.
impl Choice {
    fn parse(text: &str) -> Result<Self, String> {
        let Some(relative) = text.strip_prefix('/') else {
            return Err("it must start with `/`".to_owned());
        };
        if text.contains('\0') {
            return Err("it must not hold a NUL".to_owned());
        }
        let names: Vec<&str> = if text == "/" { Vec::new() } else { relative.split('/').collect() };
        if names.iter().any(|name| name.is_empty()) {
            return Err("it must not hold `//` or end with `/`".to_owned());
        }
        if names.iter().any(|name| matches!(*name, "." | "..")) {
            return Err("it must not hold `.` or `..`".to_owned());
        }
        let step = |name: &str| match name {
            "**" => Ok(Step::Names),
            name => Pattern::new(name).map(Step::Name).map_err(|error| error.msg.to_owned()),
        };
        Ok(Choice { steps: names.into_iter().map(step).collect::<Result<_, _>>()? })
    }

    /// The steps that are reached before any name.
    pub(super) fn start(&self) -> impl Iterator<Item = usize> {
        self.from(0)
    }

    /// The steps that are reached from one by a name.
    pub(super) fn after(&self, step: usize, name: &str) -> impl Iterator<Item = usize> {
        let next = match self.steps.get(step) {
            Some(Step::Names) => Some(step),
            Some(Step::Name(pattern)) if pattern.matches_with(name, OPTIONS) => Some(step + 1),
            _ => None,
        };
        next.into_iter().flat_map(|step| self.from(step))
    }

    /// A step, and those that are reached from it by no name.
    fn from(&self, step: usize) -> impl Iterator<Item = usize> {
        let skipped = self.steps.iter().skip(step).take_while(|step| matches!(step, Step::Names)).count();
        step..=step + skipped
    }

    /// Whether it matches all that another one does: the other's steps are read as a path.
    fn includes(&self, other: &Choice) -> bool {
        let after = |step: usize, read: &Step| {
            let next = match (self.steps.get(step), read) {
                (Some(Step::Names), _) => Some(step),
                (Some(Step::Name(own)), Step::Name(name)) if includes_name(own, name) => Some(step + 1),
                _ => None,
            };
            next.into_iter().flat_map(|step| self.from(step))
        };
        let reached = other.steps.iter().fold(self.start().collect(), |steps: Vec<usize>, read| {
            let mut next: Vec<usize> = steps.into_iter().flat_map(|step| after(step, read)).collect();
            next.sort_unstable();
            next.dedup();
            next
        });
        reached.into_iter().any(|step| self.is_end(step))
    }

    /// Whether the path so far is matched at a step.
    pub(super) fn is_end(&self, step: usize) -> bool {
        step == self.steps.len()
    }

    /// Whether all below the path so far is matched too.
    pub(super) fn is_all(&self, step: usize) -> bool {
        step + 1 == self.steps.len() && self.steps.last() == Some(&Step::Names)
    }

    fn reached(&self, path: &str) -> Vec<usize> {
        let names = path.split('/').filter(|name| !name.is_empty());
        names.fold(self.start().collect(), |steps, name| {
            let mut next: Vec<usize> = steps.into_iter().flat_map(|step| self.after(step, name)).collect();
            next.sort_unstable();
            next.dedup();
            next
        })
    }
}

/// Whether a name's pattern matches all that another one does. Where that takes more than a look, it says no.
fn includes_name(own: &Pattern, other: &Pattern) -> bool {
    let is_literal = Pattern::escape(other.as_str()) == other.as_str();
    own == other || own.as_str() == "*" || (is_literal && own.matches_with(other.as_str(), OPTIONS))
}

/// Every text that the choices in braces make of a pattern.
fn choices(text: &str) -> Result<Vec<String>, String> {
    let mut open = vec![text.to_owned()];
    let mut done = Vec::new();
    while let Some(text) = open.pop() {
        match first_braces(&text)? {
            None => done.push(text),
            Some(Braces { start, end, parts }) => {
                open.extend(parts.into_iter().rev().map(|part| format!("{}{part}{}", &text[..start], &text[end..])));
            }
        }
        if open.len() + done.len() > MAX_CHOICES {
            return Err(format!("its braces make more than {MAX_CHOICES} patterns of it"));
        }
    }
    Ok(done)
}

/// Braces in a pattern: where they begin and end, and what is between their commas.
struct Braces<'p> {
    start: usize,
    end: usize,
    parts: Vec<&'p str>,
}

fn first_braces(text: &str) -> Result<Option<Braces<'_>>, String> {
    let unclosed = || "a `{` without its `}`; write [{] for the character".to_owned();
    let mut depth = 0;
    let (mut start, mut part) = (0, 0);
    let mut parts = Vec::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            // The first character of a class is one of it, even a `]`.
            '[' => {
                let mut class = chars.clone().skip_while(|(next, c)| *next == at + 1 && *c == '!').skip(1);
                let end = class.find(|(_, c)| *c == ']').ok_or("a `[` without its `]`; write [[] for the character")?.0;
                while chars.clone().next().is_some_and(|(next, _)| next <= end) {
                    chars.next();
                }
            }
            '{' => {
                if depth == 0 {
                    (start, part) = (at, at + 1);
                }
                depth += 1;
            }
            ',' if depth == 1 => {
                parts.push(&text[part..at]);
                part = at + 1;
            }
            '}' if depth == 0 => return Err("a `}` without its `{`; write [}] for the character".to_owned()),
            '}' => {
                depth -= 1;
                if depth == 0 {
                    parts.push(&text[part..at]);
                    return Ok(Some(Braces { start, end: at + 1, parts }));
                }
            }
            _ => {}
        }
    }
    if depth > 0 { Err(unclosed()) } else { Ok(None) }
}

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

    fn matches(text: &str, path: &str) -> bool {
        pattern(text).matches_path(path)
    }

    fn covers(text: &str, path: &str) -> bool {
        let any = |choice: &Choice| choice.reached(path).into_iter().any(|step| choice.is_all(step));
        pattern(text).choices.iter().any(any)
    }

    fn may_match_below(text: &str, path: &str) -> bool {
        let any = |choice: &Choice| choice.reached(path).into_iter().any(|step| !choice.is_end(step));
        pattern(text).choices.iter().any(any)
    }

    #[test]
    fn patterns_match_what_they_say() {
        for (text, yes, no) in [
            ("/a/**", vec!["/a", "/a/b", "/a/.b/c", "/a/b c/\n"], vec!["/ab", "/", "/b/a"]),
            ("/**", vec!["/", "/a", "/a/b"], vec![]),
            ("/a/*", vec!["/a/b", "/a/.b"], vec!["/a", "/a/b/c"]),
            ("/a/?.txt", vec!["/a/b.txt", "/a/é.txt", "/a/漢.txt"], vec!["/a/bb.txt", "/a//.txt"]),
            ("/a/**/b", vec!["/a/b", "/a/x/b", "/a/x/y/b"], vec!["/a/xb", "/a/b/c"]),
            ("/a/{b,c}/d", vec!["/a/b/d", "/a/c/d"], vec!["/a/bc/d"]),
            ("/a/{b/x,c}", vec!["/a/b/x", "/a/c"], vec!["/a/b"]),
            ("/a/config{,.bak}", vec!["/a/config", "/a/config.bak"], vec!["/a/config.ba"]),
            ("/a/{b/**,c}", vec!["/a/b", "/a/b/x", "/a/c"], vec!["/a/c/x"]),
            ("/a/{x{1,2},y}", vec!["/a/x1", "/a/x2", "/a/y"], vec!["/a/x"]),
            ("/a/{**}", vec!["/a", "/a/b/c"], vec!["/b"]),
            ("/a/[b-d]", vec!["/a/c"], vec!["/a/e", "/a/bc"]),
            ("/a/[é]", vec!["/a/é"], vec!["/a/e"]),
            ("/a/[!b]", vec!["/a/c", "/a/é"], vec!["/a/b", "/a//"]),
            ("/a/[}]{b/c,d}/x", vec!["/a/}b/c/x", "/a/}d/x"], vec!["/a/b/c/x"]),
            ("/a/[[]...slug[]]/**", vec!["/a/[...slug]", "/a/[...slug]/x"], vec!["/a/x"]),
            ("/", vec!["/"], vec!["/a"]),
        ] {
            for path in yes {
                assert!(matches(text, path), "{text} {path:?}");
            }
            for path in no {
                assert!(!matches(text, path), "{text} {path:?}");
            }
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        let long = format!("/{}", "[a-z]".repeat(200_000));
        let many = format!("/{}", "{a,b}".repeat(20));
        let texts =
            ["", "a", "a/**", "/a/../b", "/./a", "/a//b", "/a/", "/a/{b", "/a/b}", "/a/[b", "/a\0", "/a**", "/**a"];
        for text in texts.into_iter().chain(["/a/***", "/a/{b,..}", long.as_str(), many.as_str()]) {
            assert!(PathPattern::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_literal_matches_itself_alone() {
        for path in ["/a", "/a/**", "/a/{b,c}", "/[x]", "/a?*", "/}{][", "/é\"\n"] {
            let literal = PathPattern::literal(path);
            assert!(matches(&literal, path) && !matches(&literal, "/a/x") && !covers(&literal, path), "{path}");
        }
    }

    #[test]
    fn a_folder_on_the_way_is_known() {
        for (text, yes, no) in [
            ("/a/b/c", vec!["/", "/a", "/a/b"], vec!["/a/b/c", "/b", "/a/c"]),
            ("/a/*/c", vec!["/a/x"], vec!["/a/x/c", "/a/x/d"]),
            ("/a/**/c", vec!["/a", "/a/x/y"], vec!["/b"]),
            ("/a/{b/c,d}/e", vec!["/a/b", "/a/b/c", "/a/d"], vec!["/a/z", "/b"]),
        ] {
            for path in yes {
                assert!(may_match_below(text, path), "{text} {path}");
            }
            for path in no {
                assert!(!may_match_below(text, path), "{text} {path}");
            }
        }
    }
}
