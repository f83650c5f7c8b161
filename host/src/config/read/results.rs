//! The walk over what is kept: `[workspace]` and `[results]`.

use super::super::units::{parse_bytes, parse_duration};
use super::{Entry, Plan, Reader};
use crate::reply::tokenizer;

impl<'t> Reader<'t> {
    pub(super) fn workspace(&mut self, value: Entry<'_, 't>, plan: &mut Plan) {
        for (key, value) in self.table(value, "a table").into_iter().flatten() {
            match key.get_ref().as_ref() {
                "dir" => plan.workspace = self.string(value).map(|folder| self.folder.join(folder)),
                _ => self.unknown(key, "[workspace]", &["dir"], &[]),
            }
        }
    }

    pub(super) fn results(&mut self, value: Entry<'_, 't>, plan: &mut Plan) {
        let whole = value;
        for (key, value) in self.table(value, "a table").into_iter().flatten() {
            let tokens = |tokens: u64| usize::try_from(tokens).unwrap_or(usize::MAX);
            match key.get_ref().as_ref() {
                "evict-above" => {
                    let above = self.count(value, "tokens").map(tokens);
                    plan.results.evict_above = above.unwrap_or(plan.results.evict_above);
                }
                "pointer" => {
                    let pointer = self.count(value, "tokens").map(tokens);
                    plan.results.pointer = pointer.unwrap_or(plan.results.pointer);
                }
                "tokenizer" => {
                    let name = self.string(value);
                    match name.as_deref().map(tokenizer) {
                        Some(Err(error)) => self.report(value.span(), &error.to_string(), None),
                        _ => plan.tokenizer = name,
                    }
                }
                "keep" => self.set(value, &mut plan.retention.bytes, parse_bytes),
                "keep-for" => self.set(value, &mut plan.retention.age, parse_duration),
                _ => self.unknown(key, "[results]", &["evict-above", "keep", "keep-for", "pointer", "tokenizer"], &[]),
            }
        }
        if let Err(reason) = plan.results.check() {
            self.report(whole.span(), &reason, Some("set `evict-above` and `pointer` higher".to_owned()));
        }
    }
}
