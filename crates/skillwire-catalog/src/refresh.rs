//! Bringing a catalogue up to date with its sources.

use std::sync::Arc;

use skillwire_source::{
    merge::merge,
    source::{Scan, Source, Unavailable},
};

use crate::catalog::{Catalog, Changes};

/// Reads sources into a catalogue, keeping the last good reading of each.
#[derive(Debug)]
pub struct Refresher {
    catalog: Arc<Catalog>,
    sources: Vec<(Box<dyn Source>, Option<Scan>)>,
}

/// What one refresh found.
#[derive(Debug)]
pub struct Refreshed {
    /// Everything that was looked at, served or not.
    pub scan: Scan,
    /// Sources that could not be read; what they had before is still served.
    pub unavailable: Vec<Unavailable>,
    /// What the swap changed.
    pub changes: Arc<Changes>,
}

impl Refresher {
    /// Connects sources to a catalogue.
    pub fn new(catalog: Arc<Catalog>, sources: Vec<Box<dyn Source>>) -> Self {
        let sources = sources.into_iter().map(|source| (source, None)).collect();
        Self { catalog, sources }
    }

    /// Reads every source and publishes the result as one snapshot.
    pub fn refresh(&mut self) -> Refreshed {
        let mut unavailable = Vec::new();
        for (source, last) in &mut self.sources {
            match source.scan() {
                Ok(scan) => *last = Some(scan),
                Err(error) => unavailable.push(error),
            }
        }
        let scan = merge(self.sources.iter().filter_map(|(_, last)| last.clone()));
        let skills = scan.inspected.iter().filter_map(|inspected| inspected.skill.clone());
        let changes = self.catalog.publish(skills.collect());
        Refreshed { scan, unavailable, changes }
    }
}
