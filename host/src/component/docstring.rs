//! A function's docs, taken apart into the sections of Google's Python style guide: WIT has no docs for parameters.

use std::collections::{BTreeMap, HashSet};

/// The docs of a function and of what it takes and returns.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Docstring {
    /// What is left without the sections.
    pub(crate) text: Option<String>,
    /// `Args:` (or `Arguments:`, `Parameters:`), by name.
    pub(crate) args: BTreeMap<String, String>,
    /// `Returns:`.
    pub(crate) returns: Option<String>,
    /// `Examples:` (or `Example:`), a line each.
    pub(crate) examples: Vec<String>,
}

enum Section {
    Args,
    Returns,
    Examples,
}

impl Docstring {
    pub(crate) fn parse(docs: &str) -> Self {
        let mut parsed = Docstring::default();
        let mut text = String::new();
        let mut lines = docs.lines().peekable();
        while let Some(line) = lines.next() {
            let Some((section, beside)) = heading(line) else {
                text.push_str(line);
                text.push('\n');
                continue;
            };
            let outer = indent(line);
            let mut body: Vec<&str> = beside.into_iter().collect();
            while let Some(line) = lines.next_if(|line| line.trim().is_empty() || indent(line) > outer) {
                body.push(line);
            }
            match section {
                Section::Args => parsed.args.extend(entries(&body)),
                Section::Returns => parsed.returns = paragraph(&body),
                Section::Examples => {
                    let lines = body.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
                    parsed.examples.extend(lines.map(str::to_owned));
                }
            }
        }
        let text = text.trim();
        parsed.text = (!text.is_empty()).then(|| text.to_owned());
        parsed
    }

    /// The docs of a parameter, by its WIT name or that name in snake_case.
    pub(crate) fn arg(&self, name: &str) -> Option<&str> {
        let found = self.args.get(name).or_else(|| self.args.get(&name.replace('-', "_")));
        found.map(String::as_str).filter(|about| !about.is_empty())
    }

    /// The entries of `Args:` that name none of these parameters, at most twenty.
    pub(crate) fn strangers<'d>(&'d self, params: &[&str]) -> Vec<&'d str> {
        let known: HashSet<String> =
            params.iter().flat_map(|name| [(*name).to_owned(), name.replace('-', "_")]).collect();
        self.args.keys().map(String::as_str).filter(|arg| !known.contains(*arg)).take(20).collect()
    }
}

/// The section that a line begins, and what stands beside its name. A section's name stands alone, but for `Returns:`,
/// which many write on one line.
fn heading(line: &str) -> Option<(Section, Option<&str>)> {
    let (name, beside) = line.trim().split_once(':')?;
    let beside = beside.trim();
    let section = match name {
        "Args" | "Arguments" | "Parameters" if beside.is_empty() => Section::Args,
        "Examples" | "Example" if beside.is_empty() => Section::Examples,
        "Returns" => Section::Returns,
        _ => return None,
    };
    Some((section, (!beside.is_empty()).then_some(beside)))
}

/// `name: text` or `name (type): text`, with further lines indented more. The type is what the WIT says already.
fn entries(body: &[&str]) -> Vec<(String, String)> {
    let mut entries: Vec<(String, String)> = Vec::new();
    let mut lines = body.iter().filter(|line| !line.trim().is_empty()).peekable();
    let outermost = lines.peek().map_or(0, |line| indent(line));
    for line in lines {
        match (line.trim().split_once(':'), entries.last_mut()) {
            (Some((name, about)), _) if indent(line) <= outermost => {
                let name = name.split_whitespace().next().unwrap_or_default().trim_matches('`');
                entries.push((name.to_owned(), about.trim().to_owned()));
            }
            (_, Some((_, about))) => {
                if !about.is_empty() {
                    about.push(' ');
                }
                about.push_str(line.trim());
            }
            (_, None) => {}
        }
    }
    entries
}

fn paragraph(body: &[&str]) -> Option<String> {
    let lines: Vec<&str> = body.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    (!lines.is_empty()).then(|| lines.join(" "))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::Docstring;

    #[test]
    fn sections_leave_the_description() {
        let docs = "Reads a file.\n\nLine by line.\n\nArgs:\n    path: Where it is.\n    max-lines (u32): At most\n        so many: really.\n    `raw`:\n        As it is.\n\nReturns:\n    The lines.\n    All of them.\n\nExamples:\n    {\"path\": \"/a\"}\n    Or nothing.\n\nThe end.";
        let parsed = Docstring::parse(docs);
        assert_eq!(parsed.text.as_deref(), Some("Reads a file.\n\nLine by line.\n\nThe end."));
        assert_eq!(parsed.arg("path"), Some("Where it is."));
        assert_eq!(parsed.arg("max-lines"), Some("At most so many: really."));
        assert_eq!(parsed.arg("raw"), Some("As it is."));
        assert_eq!(parsed.arg("other"), None);
        assert_eq!(parsed.returns.as_deref(), Some("The lines. All of them."));
        assert_eq!(parsed.examples, ["{\"path\": \"/a\"}", "Or nothing."]);
        assert_eq!(parsed.strangers(&["path", "raw"]), ["max-lines"]);
    }

    #[test]
    fn an_empty_section_leaves_nothing() {
        assert_eq!(Docstring::parse("Args:"), Docstring::default());
        assert_eq!(Docstring::parse("Returns:\n\nExamples:\n"), Docstring::default());
        assert_eq!(Docstring::parse(""), Docstring::default());
    }

    #[test]
    fn only_a_name_of_its_own_line_begins_a_section() {
        let docs = "Example: this one.\nThe Args: none.\nReturns: a number.";
        let parsed = Docstring::parse(docs);
        assert_eq!(parsed.text.as_deref(), Some("Example: this one.\nThe Args: none."));
        assert_eq!(parsed.returns.as_deref(), Some("a number."));
    }
}
