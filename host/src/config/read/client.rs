//! The walk over `[client.NAME]`.

use super::super::ClientPlan;
use super::{Entry, Key, Reader};
use crate::workspace::is_session_name;

impl<'t> Reader<'t> {
    pub(super) fn client(&mut self, key: Key<'_, 't>, value: Entry<'_, 't>) -> Option<ClientPlan> {
        let name = key.get_ref().to_string();
        let place = format!("[client.{name}]");
        if !is_session_name(&name) {
            let message = format!("{name:?} is no name of a session, which a client's name is");
            let hint = "expected 1 to 64 letters, digits, `-`, `_` and `.`, and no `.` first";
            self.report(key.span(), &message, Some(hint.to_owned()));
        }
        let (mut token_file, mut toolsets) = (None, None);
        let table = self.table(value, "a table")?;
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "token-file" => token_file = self.string(value).map(|file| self.folder.join(file)),
                "toolsets" => toolsets = self.strings(value),
                _ => self.unknown(key, &place, &["token-file", "toolsets"], &[]),
            }
        }
        if !table.contains_key("token-file") {
            let hint = "name a file that holds a secret which only this client knows";
            self.report(key.span(), &format!("{place} has no `token-file`"), Some(hint.to_owned()));
        }
        Some(ClientPlan { name, token_file: token_file?, toolsets })
    }

    /// A client may call what there is.
    pub(super) fn known_toolsets(&mut self, clients: &'_ toml::de::DeTable<'t>, known: &[&str]) {
        for (key, client) in clients {
            let toolsets = client.get_ref().get("toolsets").and_then(|toolsets| toolsets.get_ref().as_array());
            for toolset in toolsets.into_iter().flatten() {
                let Some(name) = toolset.get_ref().as_str().filter(|name| !known.contains(name)) else { continue };
                let message = format!("[client.{}] names a toolset `{name}`, and there is none", key.get_ref());
                self.report(
                    toolset.span(),
                    &message,
                    crate::tool::nearest(name, known.iter().copied()).map(|near| format!("did you mean `{near}`?")),
                );
            }
        }
    }
}
