//! The tables of a hub as they are copied: to a backup, from a backup, and to another engine.

/// A table, with its columns in the order in which they are copied.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// The primary key.
    pub(crate) key: &'static [&'static str],
    /// Columns that hold numbers.
    pub(crate) numbers: &'static [&'static str],
    /// Columns that hold texts.
    pub(crate) texts: &'static [&'static str],
}

impl Table {
    /// Every column: numbers first, then texts, then what later schemas added.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &'static str> {
        let added = self.added().map(|(column, _)| column);
        self.numbers.iter().chain(self.texts).copied().chain(added)
    }

    /// Columns that later schemas added, in their order, with what rows from before hold.
    pub(crate) fn added(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let name = self.name;
        let of_table = ADDED.iter().filter(move |(table, ..)| *table == name);
        of_table.map(|(_, column, before)| (*column, *before))
    }

    pub(crate) fn is_number(&self, column: &str) -> bool {
        self.numbers.contains(&column)
    }
}

/// Columns with texts that later schemas added: the table, the column, and what rows from before hold.
const ADDED: &[(&str, &str, &str)] = &[
    ("upstreams", "tools", "[]"),
    ("upstreams", "resources", "[]"),
    ("observations", "facts", "{}"),
];

/// Every table but `schema_version`, each after those that it refers to.
pub(crate) const TABLES: &[Table] = &[
    Table {
        name: "hub",
        key: &["id"],
        numbers: &["id", "outbox", "audit", "last_key"],
        texts: &["audit_hash"],
    },
    Table {
        name: "namespaces",
        key: &["name"],
        numbers: &["protected", "skills", "versions", "bytes", "created_at"],
        texts: &["name", "review", "quotas", "created_by"],
    },
    Table {
        name: "grants",
        key: &["namespace", "subject", "role"],
        numbers: &[],
        texts: &["namespace", "subject", "role"],
    },
    Table {
        name: "skills",
        key: &["key"],
        numbers: &["key", "created_at", "popular"],
        texts: &["namespace", "name", "created_by", "conflict_with", "conflict_kind"],
    },
    Table { name: "name_guards", key: &["key", "skill"], numbers: &["skill"], texts: &["key"] },
    Table {
        name: "versions",
        key: &["key"],
        numbers: &["key", "skill", "changed_at", "published_at", "size", "purged"],
        texts: &[
            "version",
            "content",
            "state",
            "reason",
            "publisher",
            "provenance",
            "files",
            "entry",
        ],
    },
    Table {
        name: "version_blobs",
        key: &["digest", "version"],
        numbers: &["version"],
        texts: &["digest"],
    },
    Table { name: "blobs", key: &["digest"], numbers: &["size", "touched_at"], texts: &["digest"] },
    Table {
        name: "channels",
        key: &["name", "skill"],
        numbers: &["skill", "version", "moved_at"],
        texts: &["name", "stack", "moved_by"],
    },
    Table {
        name: "revoked_content",
        key: &["content"],
        numbers: &["at"],
        texts: &["content", "revoked_by", "reason"],
    },
    Table {
        name: "tokens",
        key: &["id"],
        numbers: &["id", "administrator", "created_at", "expires_at", "revoked_at"],
        texts: &["name", "subject", "hash", "scopes", "namespaces", "created_by"],
    },
    Table {
        name: "trusted_publishers",
        key: &["id"],
        numbers: &["id"],
        texts: &["namespace", "issuer", "claims", "subject"],
    },
    Table {
        name: "decisions",
        key: &["id"],
        numbers: &["id", "at", "until_at"],
        texts: &["place", "content", "verdict", "decided_by", "reason", "findings"],
    },
    Table {
        name: "upstreams",
        key: &["label"],
        numbers: &["configured", "created_at"],
        texts: &["label", "mode", "source", "limits", "rules", "created_by"],
    },
    Table {
        name: "offers",
        key: &["id"],
        numbers: &["id", "offered", "seen_at", "size"],
        texts: &["upstream", "uri", "content", "entry", "files", "facts"],
    },
    Table {
        name: "offer_blobs",
        key: &["digest", "offer"],
        numbers: &["offer"],
        texts: &["digest"],
    },
    Table {
        name: "observations",
        key: &["upstream", "uri"],
        numbers: &["seen_at"],
        texts: &["upstream", "uri", "content"],
    },
    Table {
        name: "audit",
        key: &["number"],
        numbers: &["number", "at"],
        texts: &[
            "actor",
            "actor_salt",
            "actor_commitment",
            "action",
            "target",
            "content",
            "details",
            "details_salt",
            "details_commitment",
            "hash",
        ],
    },
    Table { name: "outbox", key: &["number"], numbers: &["number", "at"], texts: &["change"] },
    Table {
        name: "jobs",
        key: &["id"],
        numbers: &["id", "run_at", "attempts", "leased_until"],
        texts: &["kind", "payload", "unique_key", "worker", "last_error"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::MIGRATIONS;

    /// A column that is forgotten here would be lost by every backup.
    #[test]
    fn every_table_and_column_of_the_schema_is_copied() {
        let schema: String = MIGRATIONS.iter().map(|migration| migration.sqlite).collect();
        let mut count = 0;
        for part in schema.split("CREATE TABLE ").skip(1) {
            let name = part.split_whitespace().next().unwrap();
            let body = part.split_once("(\n").unwrap().1.split_once("\n);").unwrap().0;
            let mut columns: Vec<&str> = body
                .lines()
                .map(|line| line.split_whitespace().next().unwrap())
                .filter(|word| !matches!(*word, "PRIMARY" | "UNIQUE"))
                .collect();
            let added = schema.lines().filter_map(|line| {
                let added = line.strip_prefix("ALTER TABLE ")?.strip_prefix(name)?;
                added.strip_prefix(" ADD COLUMN ")?.split_whitespace().next()
            });
            columns.extend(added);
            columns.sort_unstable();
            let table = TABLES.iter().find(|table| table.name == name).expect(name);
            let mut copied: Vec<&str> = table.columns().collect();
            copied.sort_unstable();
            assert_eq!(copied, columns, "{name}");
            count += 1;
        }
        assert_eq!(count, TABLES.len());
    }
}
