//! Names the changes of a configuration file that a running server cannot take over.

use std::collections::BTreeSet;

use crate::report::printable;

/// The configuration that a server was started with.
#[derive(Debug)]
pub(super) struct RestartKeys {
    started_with: toml::Table,
    /// The keys that count without a restart.
    reloaded: &'static [&'static str],
}

impl RestartKeys {
    pub(super) fn new(started_with: toml::Table, reloaded: &'static [&'static str]) -> Self {
        Self { started_with, reloaded }
    }

    /// Warns of keys whose changes count after a restart.
    pub(super) fn warn(&self, now: &toml::Table) {
        let keys = self.changed(now);
        if !keys.is_empty() {
            let keys: Vec<_> = keys.iter().map(|key| format!("`{}`", printable(key))).collect();
            tracing::warn!("Changes of {} count after a restart.", keys.join(", "));
        }
    }

    fn changed<'a>(&'a self, now: &'a toml::Table) -> BTreeSet<&'a str> {
        let keys = self.started_with.keys().chain(now.keys()).map(String::as_str);
        let is_fixed = |key: &&str| !self.reloaded.contains(key);
        keys.filter(is_fixed).filter(|key| self.started_with.get(*key) != now.get(*key)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changed_keys_that_need_a_restart_are_named() {
        let table = |text: &str| text.parse::<toml::Table>().unwrap();
        let keys = RestartKeys::new(table("a = 1\nb = 2\nc = [1]\nrate = \"1/s\""), &["rate"]);
        let now = table("a = 1\nc = [2]\nd = 4\nrate = \"2/s\"");
        assert_eq!(keys.changed(&now).into_iter().collect::<Vec<_>>(), ["b", "c", "d"]);
    }
}
