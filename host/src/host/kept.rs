//! What a host keeps for the one that takes its place: what cannot be had again, or need not be read again.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::component::{Component, digest};
use crate::config::{SecretPlan, Source, ToolsetPlan};
use crate::engine::Engine;
use crate::error::Error;
use crate::policy::Secret;
use crate::sandbox::Root;

#[derive(Clone, Default)]
pub(super) struct Kept {
    /// Components of files, by toolset and file.
    components: HashMap<(String, PathBuf), Component>,
    secrets: Vec<(SecretPlan, Secret)>,
    /// The folders of mounts, by toolset: they know what calls have added to them.
    roots: HashMap<String, Vec<Arc<Root>>>,
}

impl Kept {
    /// Keeps what another has kept too.
    pub(super) fn extend(&mut self, other: &Kept) {
        self.components.extend(other.components.iter().map(|(key, component)| (key.clone(), component.clone())));
        self.secrets.extend(other.secrets.iter().cloned());
        self.roots.extend(other.roots.iter().map(|(toolset, roots)| (toolset.clone(), roots.clone())));
    }

    pub(super) fn component(&self, plan: &ToolsetPlan) -> Option<&Component> {
        let Source::File(file) = &plan.source else { return None };
        self.components.get(&(plan.name.clone(), file.clone()))
    }

    pub(super) fn keep_component(&mut self, plan: &ToolsetPlan, component: &Component) {
        if let Source::File(file) = &plan.source {
            self.components.insert((plan.name.clone(), file.clone()), component.clone());
        }
    }

    pub(super) fn secret(&self, plan: &SecretPlan) -> Option<&Secret> {
        self.secrets.iter().find(|(kept, _)| kept == plan).map(|(_, secret)| secret)
    }

    pub(super) fn keep_secret(&mut self, plan: &SecretPlan, secret: &Secret) {
        self.secrets.push((plan.clone(), secret.clone()));
    }

    pub(super) fn roots(&self, toolset: &str) -> &[Arc<Root>] {
        self.roots.get(toolset).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn keep_roots(&mut self, toolset: &str, roots: &[Arc<Root>]) {
        self.roots.insert(toolset.to_owned(), roots.to_vec());
    }
}

/// A component's file as somebody else has read it.
pub(super) struct Given {
    bytes: Vec<u8>,
    pub(super) digest: String,
}

impl Given {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Given { digest: digest(&bytes), bytes }
    }

    pub(super) fn component(&self, engine: &Engine) -> Result<Component, Error> {
        if let Some(used) = engine.used(&self.digest) {
            return Ok(used);
        }
        let component = Component::new(engine, &self.bytes)?;
        engine.remember(&component);
        Ok(component)
    }
}
