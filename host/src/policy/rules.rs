//! Which operations on which of a guest's files are allowed: the first rule that matches decides.

use std::fmt;

use super::pattern::{Choice, PathPattern};

/// What a guest may do with a file or a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Open it, list it, ask for its size and times, read where a link leads.
    Read,
    /// Create, change, truncate, delete or rename it, or set its times.
    Write,
}

impl Operation {
    /// The word for it, as rules have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
        }
    }
}

/// What a rule does with an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// The operation goes ahead.
    Allow,
    /// The guest gets an error, and the operator a denial.
    Deny,
    /// A person decides, while the call waits.
    Ask,
}

/// One rule: what it does with which operations on which paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FsRule {
    effect: Effect,
    operations: Vec<Operation>,
    patterns: Vec<PathPattern>,
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

    /// A rule that leaves them to a person.
    pub fn ask(operations: &[Operation], patterns: Vec<PathPattern>) -> Self {
        FsRule { effect: Effect::Ask, ..FsRule::allow(operations, patterns) }
    }

    /// A rule that refuses them.
    pub fn deny(operations: &[Operation], patterns: Vec<PathPattern>) -> Self {
        FsRule { effect: Effect::Deny, ..FsRule::allow(operations, patterns) }
    }

    pub(crate) fn effect(&self) -> Effect {
        self.effect
    }

    pub(crate) fn patterns(&self) -> &[PathPattern] {
        &self.patterns
    }
}

impl fmt::Display for FsRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operations: Vec<String> = self.operations.iter().map(ToString::to_string).collect();
        let patterns: Vec<&str> = self.patterns.iter().map(|pattern| pattern.as_str()).collect();
        write!(f, "{} {} on {}", self.effect, operations.join(" and "), patterns.join(", "))
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Effect::Allow => "allow",
            Effect::Deny => "deny",
            Effect::Ask => "ask",
        })
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Rules that never decide, since an earlier one always does, each with that one.
pub(crate) fn shadowed(rules: &[FsRule]) -> Vec<String> {
    let covers = |earlier: &FsRule, rule: &FsRule| {
        rule.operations.iter().all(|operation| earlier.operations.contains(operation))
            && rule.patterns.iter().all(|pattern| earlier.patterns.iter().any(|other| other.includes(pattern)))
    };
    let by = |index: usize| rules[..index].iter().position(|earlier| covers(earlier, &rules[index]));
    let told = |(index, earlier): (usize, usize)| {
        format!(
            "fs rule {} never decides ({}): fs rule {} comes first ({})",
            index + 1,
            rules[index],
            earlier + 1,
            rules[earlier]
        )
    };
    (0..rules.len()).filter_map(|index| Some((index, by(index)?))).map(told).collect()
}

/// What the rules say along a path, from its first name on.
#[derive(Clone)]
pub(crate) struct Trail<'r> {
    rules: &'r [FsRule],
    /// What is still reached of the rules' patterns, in their order.
    reached: Vec<Reached<'r>>,
}

#[derive(Clone, Copy)]
struct Reached<'r> {
    rule: usize,
    /// The choice's place among those of all rules.
    index: usize,
    choice: &'r Choice,
    step: usize,
}

impl<'r> Trail<'r> {
    /// The rules at `/`.
    pub(crate) fn root(rules: &'r [FsRule]) -> Self {
        let patterns = rules.iter().enumerate().flat_map(|(rule, FsRule { patterns, .. })| {
            patterns.iter().flat_map(|pattern| pattern.choices()).map(move |choice| (rule, choice))
        });
        let reached = patterns
            .enumerate()
            .flat_map(|(index, (rule, choice))| choice.start().map(move |step| Reached { rule, index, choice, step }));
        Trail { rules, reached: reached.collect() }
    }

    /// The rules at an absolute path.
    pub(crate) fn at(rules: &'r [FsRule], path: &str) -> Self {
        let mut trail = Trail::root(rules);
        trail.enter(path);
        trail
    }

    /// Goes on by the names of a relative path.
    pub(crate) fn enter(&mut self, path: &str) {
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let after = |&at: &Reached<'r>| at.choice.after(at.step, name).map(move |step| Reached { step, ..at });
            self.reached = self.reached.iter().flat_map(after).collect();
            // A step is reached in more than one way.
            self.reached.sort_unstable_by_key(|at| (at.index, at.step));
            self.reached.dedup_by_key(|at| (at.index, at.step));
        }
    }

    /// What the rules say of an operation here.
    pub(crate) fn decide(&self, operation: Operation) -> Decision {
        match self.speaking(operation).find(|at| at.choice.is_end(at.step)) {
            Some(&Reached { rule: index, .. }) => {
                let rule = &self.rules[index];
                Decision { effect: rule.effect, rule: format!("fs rule {}: {rule}", index + 1) }
            }
            None => Decision { effect: Effect::Deny, rule: NO_MATCH.to_owned() },
        }
    }

    /// Whether an operation is allowed here, or may be.
    pub(crate) fn may_allow(&self, operation: Operation) -> bool {
        let decisive = self.speaking(operation).find(|at| at.choice.is_end(at.step));
        decisive.is_some_and(|at| self.effect(at) != Effect::Deny)
    }

    /// Whether an operation may be allowed somewhere below, so that a guest must be able to pass through here.
    pub(crate) fn leads_on(&self, operation: Operation) -> bool {
        // Where a denial covers all that is below, nothing comes to a later rule.
        let decisive = self.speaking(operation).find(|at| match self.effect(at) {
            Effect::Allow | Effect::Ask => !at.choice.is_end(at.step),
            Effect::Deny => at.choice.is_all(at.step),
        });
        decisive.is_some_and(|at| self.effect(at) != Effect::Deny)
    }

    /// Whether one rule allows an operation here and on all that is below, with no earlier rule in between.
    pub(crate) fn allows_all(&self, operation: Operation) -> bool {
        let speaking: Vec<&Reached<'_>> = self.speaking(operation).collect();
        let first = speaking.chunk_by(|a, b| a.rule == b.rule).next().unwrap_or_default();
        first.iter().any(|at| at.choice.is_all(at.step) && self.effect(at) == Effect::Allow)
    }

    fn speaking(&self, operation: Operation) -> impl Iterator<Item = &Reached<'r>> {
        self.reached.iter().filter(move |at| self.rules[at.rule].operations.contains(&operation))
    }

    fn effect(&self, at: &Reached<'_>) -> Effect {
        self.rules[at.rule].effect
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> PathPattern {
        PathPattern::parse(text).unwrap()
    }

    #[test]
    fn a_rule_that_never_decides_is_told() {
        use Operation::{Read, Write};
        for (first, second, is_shadowed) in [
            ("/a/**", "/a/b", true),
            ("/a/**", "/a", true),
            ("/a/**", "/a/**", true),
            ("/a/**", "/a/**/b/*", true),
            ("/**", "/a/{b,c}", true),
            ("/a/*", "/a/b", true),
            ("/a/*", "/a/b*", true),
            ("/a/*.txt", "/a/b.txt", true),
            ("/a/**/b", "/a/x/b", true),
            ("/a/{b,c}/**", "/a/c/d", true),
            ("/a/*", "/a/**", false),
            ("/a/b", "/a/*", false),
            ("/a/*.txt", "/a/b*", false),
            ("/a/**", "/{a,b}/c", false),
            ("/a/**/b", "/a/**", false),
            ("/a/*/b", "/a/**/b", false),
        ] {
            let rules =
                [FsRule::deny(&[Read, Write], vec![pattern(first)]), FsRule::allow(&[Read], vec![pattern(second)])];
            assert_eq!(shadowed(&rules).len(), usize::from(is_shadowed), "{first} {second}");
        }
        let rules = [FsRule::deny(&[Read], vec![pattern("/**")]), FsRule::allow(&[Read, Write], vec![pattern("/a")])];
        assert!(shadowed(&rules).is_empty(), "it still decides on writing");
        let rules = [
            FsRule::deny(&[Read], vec![pattern("/a/**"), pattern("/b/**")]),
            FsRule::allow(&[Read], vec![pattern("/b/x"), pattern("/a/x")]),
        ];
        let expected =
            "fs rule 2 never decides (allow read on /b/x, /a/x): fs rule 1 comes first (deny read on /a/**, /b/**)";
        assert_eq!(shadowed(&rules), [expected]);
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        use Operation::{Read, Write};
        let rules = [
            FsRule::deny(&[Read, Write], vec![pattern("/docs/private/**")]),
            FsRule::allow(&[Read], vec![pattern("/docs/**"), pattern("/more/*.txt")]),
            FsRule::deny(&[Read], vec![pattern("/docs/open")]),
        ];
        let effect = |operation, path| Trail::at(&rules, path).decide(operation).effect;
        let rule = |operation, path| Trail::at(&rules, path).decide(operation).rule;
        let leads_on = |path| Trail::at(&rules, path).leads_on(Read);
        let allows_all = |operation, path| Trail::at(&rules, path).allows_all(operation);
        assert_eq!(effect(Read, "/docs/open"), Effect::Allow);
        assert_eq!(effect(Read, "/docs/private"), Effect::Deny);
        assert_eq!(effect(Read, "/docs/private/x"), Effect::Deny);
        assert_eq!(effect(Read, "/docs/privately"), Effect::Allow);
        assert_eq!(effect(Write, "/docs/open"), Effect::Deny);
        assert_eq!(rule(Write, "/docs/open"), "no fs rule matched; add an allow last");
        assert_eq!(rule(Read, "/docs/private/x"), "fs rule 1: deny read and write on /docs/private/**");
        assert!(leads_on("/more") && !leads_on("/other"));
        assert!(leads_on("/docs") && !leads_on("/docs/private"));
        let hidden = [
            FsRule::deny(&[Read, Write], vec![pattern("/m/**/.git/**"), pattern("/m/{priv,zz}/**")]),
            FsRule::allow(&[Read], vec![pattern("/m/**")]),
        ];
        for folder in ["/m/.git", "/m/a/.git", "/m/a/.git/refs", "/m/priv", "/m/zz/x"] {
            assert!(!Trail::at(&hidden, folder).leads_on(Read), "{folder}");
        }
        assert!(Trail::at(&hidden, "/m/a").leads_on(Read));
        assert!(!allows_all(Read, "/docs"), "a part of it is denied");
        assert!(allows_all(Read, "/docs/public"));
        assert!(!allows_all(Write, "/docs/public"));
    }
}
