//! Names of enums, flags and cases.

use serde_json::value::RawValue;
use wasmtime::component::Val;

use super::fault::{Cx, describe_str};
use super::wanted::{Wanted, case_form};
use crate::tool::nearest::nearest_of;
use crate::tool::shape::{Case, Label, Name, Named};

/// A name out of a list, or nothing and a fault.
pub(super) fn read_label(text: &str, wanted: Wanted<'_>, labels: &Named<Label>, cx: &mut Cx) -> Option<String> {
    match found(text, labels, cx) {
        Some(label) => Some(label.name.clone()),
        None => {
            cx.no_such(wanted, text, labels.iter().map(|label| label.name.as_str()));
            None
        }
    }
}

pub(super) fn read_bare_case(text: &str, wanted: Wanted<'_>, cases: &Named<Case>, cx: &mut Cx) -> Val {
    match found(text, cases, cx) {
        Some(Case { payload: None, name, .. }) => return Val::Variant(name.clone(), None),
        _ if cx.is_full() => return Val::Bool(false),
        _ => {}
    }
    let hint = match cases.find(text) {
        Some((_, case)) if case.payload.is_some() => Some(format!("the case takes a value: {}", case_form(case))),
        Some((_, case)) => Some(format!("did you mean {}?", case_form(case))),
        None => nearest_case(text, cases).map(|case| format!("did you mean {}?", case_form(case))),
    };
    cx.fault(format!("expected {wanted}, got {}", describe_str(text)), hint)
}

/// The case that a key names.
pub(super) fn find_case<'s>(key: &str, cases: &'s Named<Case>, cx: &mut Cx) -> Option<&'s Case> {
    match cases.find(key) {
        // Its key is as good as its name: where only identifiers are keys, models are told that.
        Some((_, case)) if case.key == key => Some(case),
        Some(_) => found(key, cases, cx),
        // A name that was cut.
        None => cases.iter().find(|case| case.key == key),
    }
}

/// What a text names, noted where it is spelt in another way.
fn found<'s, T: Name>(text: &str, all: &'s Named<T>, cx: &mut Cx) -> Option<&'s T> {
    let (_, item) = all.find(text)?;
    if item.name() == text {
        return Some(item);
    }
    if !cx.is_lenient() {
        return None;
    }
    cx.note(describe_str(text), describe_str(item.name()));
    Some(item)
}

fn nearest_case<'s>(text: &str, cases: &'s [Case]) -> Option<&'s Case> {
    nearest_of(text, cases.iter().map(|case| (case.name.as_str(), case)))
}

impl Cx {
    /// Notes that an object of one key has another.
    pub(super) fn no_such_key(&mut self, wanted: Wanted<'_>, key: &str) {
        self.expected(wanted, format_args!("an object with the key {}", describe_str(key)));
    }

    /// Notes that a variant's object has another key. Many models write a case as `{"type": "case", …}`.
    pub(super) fn no_such_case_key(&mut self, wanted: Wanted<'_>, key: &str, value: &RawValue, cases: &[Case]) {
        if self.is_full() {
            return;
        }
        let tagged: Option<String> = serde_json::from_str(value.get()).ok();
        let tagged = tagged.and_then(|name| cases.iter().find(|case| case.name == name || case.key == name));
        let hint = match (tagged, nearest_case(key, cases)) {
            (Some(case), _) => Some(format!("write {}", case_form(case))),
            (_, Some(case)) => Some(format!("did you mean {}?", case_form(case))),
            _ => None,
        };
        self.fault(format!("expected {wanted}, got an object with the key {}", describe_str(key)), hint);
    }
}
