//! The configuration of a hub: `hub.toml` in its folder.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use skillwire_hub_server::{HubAccess, HubIdentity, RecordedReads};
use skillwire_hub_store::{BlobLocation, DatabaseLocation, S3Location, StoreOptions};
use skillwire_server::http::AccessRules;

use super::{
    environment::variable,
    hub_access::AccessTable,
    hub_signers::HubSigners,
    hub_upstreams::{self, ConfiguredUpstream},
    operating::{OperatingSettings, OperatingWords},
    signer_entry::SignerEntry,
};
use crate::{args::HttpAddress, failure::Failure, regular_file};

/// The name of the file in the folder of a hub.
pub(crate) const HUB_FILE: &str = "hub.toml";

/// The largest file that is read.
const MAX_BYTES: u64 = 256 * 1024;

/// How many bytes a replica keeps of an object store, unless its configuration says otherwise.
const CACHE_MIB: u64 = 1024;

/// What `hub init` writes.
pub(crate) const NEW_HUB: &str = "\
# The configuration of a Skillwire hub. A variable in `${}` is filled in from the environment.

# What clients are told the hub is called.
name = \"skillwire-hub\"

# The address of the hub as clients write it, once a proxy with TLS is in front.
# url = \"https://skills.example.com\"

# Where to listen. Put a proxy with TLS in front before other machines use it.
listen = \"127.0.0.1:8650\"

# Names under which clients reach the hub, besides those of this machine.
hosts = []

# The audience that tokens of CI must name to publish.
audience = \"skillwire-hub\"

# Issuers of tokens of CI that may be on a private network or without TLS.
private-issuers = []

# How long a replica that lost its database goes on serving.
stale-limit = \"5m\"

# Variables of the environment that upstreams may name, besides those that begin with `SKILLWIRE_UPSTREAM_`.
# Upstreams that this file describes may name any.
# upstream-variables = [\"DOCS_TOKEN\"]

# Skills of others that the hub passes on; see `skillwire hub upstream --help`.
# [[upstreams]]
# label = \"docs\"
# mode = \"pin\"
# source = { kind = \"mcp\", url = \"https://docs.example/mcp\" }

# Signers that reviewers and rules of upstreams see; files are named relative to this one.
# [signers.docs-team]
# key = \"docs-team.pub\"

# Which reads of clients stand in the log: `all`, a share such as `1/100`, or `off`.
[audit]
reads = \"all\"

# How often one caller may ask: so many requests in a second, and so many at once; or `off`.
[limits]
rate = \"500/s:2000\"

# A line for each request: a file, `-` for standard error, or `off`; all of them, or a share such as `1/100`.
[log]
access = \"off\"

# A file of SQLite, or `postgres://user:password@host/database`.
[database]
url = \"hub.db\"

# A folder, or `s3://bucket/prefix` with `endpoint`, `region`, `access-key` and `secret-key`.
[blobs]
url = \"blobs\"
";

/// A hub's configuration.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct HubFile {
    #[serde(default = "usual_name")]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) listen: Option<HttpAddress>,
    #[serde(default)]
    pub(crate) hosts: Vec<String>,
    #[serde(default)]
    origins: Vec<String>,
    #[serde(default = "usual_name")]
    audience: String,
    #[serde(default)]
    private_issuers: Vec<String>,
    #[serde(default)]
    stale_limit: Option<String>,
    /// Variables that upstreams may name which the file does not describe.
    #[serde(default)]
    pub(crate) upstream_variables: Vec<String>,
    #[serde(default)]
    poll: Option<String>,
    #[serde(default)]
    audit: AuditTable,
    /// The address of the hub as clients write it, without a path.
    #[serde(default)]
    pub(crate) url: Option<String>,
    #[serde(default)]
    access: AccessTable,
    /// Signers whose signatures over content of upstreams are told.
    #[serde(default)]
    signers: BTreeMap<String, SignerEntry>,
    #[serde(default)]
    limits: LimitsTable,
    #[serde(default)]
    log: LogTable,
    database: DatabaseTable,
    blobs: BlobsTable,
    /// Read apart from the rest, because each replica fills its variables in when it uses them.
    #[serde(skip)]
    upstreams: Vec<ConfiguredUpstream>,
    #[serde(skip)]
    folder: PathBuf,
    #[serde(skip)]
    keys: toml::Table,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct DatabaseTable {
    url: String,
    #[serde(default)]
    connections: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct AuditTable {
    #[serde(default)]
    reads: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct LimitsTable {
    #[serde(default)]
    rate: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct LogTable {
    #[serde(default)]
    access: Option<String>,
    #[serde(default)]
    sample: Option<String>,
}

/// Where bytes are kept.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct BlobsTable {
    url: String,
    #[serde(default)]
    endpoint: Option<String>,
    #[serde(default)]
    region: Option<String>,
    #[serde(default)]
    access_key: Option<String>,
    #[serde(default)]
    secret_key: Option<String>,
    #[serde(default)]
    cache: Option<PathBuf>,
    #[serde(default)]
    cache_mib: Option<u64>,
}

fn usual_name() -> String {
    "skillwire-hub".to_owned()
}

impl HubFile {
    /// Reads the configuration of the hub in a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(HUB_FILE);
        let text = regular_file::read(&path, MAX_BYTES).map_err(|error| {
            Failure::usage(format!("`{}` holds no hub.", folder.display()))
                .because(error)
                .hint(format!("`skillwire hub init {}` makes one.", folder.display()))
        })?;
        Self::parse(&text, folder)
    }

    /// Reads the configuration that a backup holds, for a hub in another folder; a backup that holds none gives
    /// that of a new hub. Returns its text, too.
    pub(crate) fn of_backup(backup: &Path, folder: &Path) -> Result<(Self, String), Failure> {
        let path = backup.join(HUB_FILE);
        let text = if path.exists() {
            regular_file::read(&path, MAX_BYTES).map_err(|error| {
                Failure::usage(format!("`{}` cannot be read.", path.display())).because(error)
            })?
        } else {
            NEW_HUB.to_owned()
        };
        let mut file = Self::parse(&text, backup)?;
        folder.clone_into(&mut file.folder);
        Ok((file, text))
    }

    fn parse(text: &str, folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(HUB_FILE);
        let unreadable = |reason: String| {
            Failure::usage(format!("`{}` cannot be understood: {reason}.", path.display()))
        };
        let (text, upstreams) = hub_upstreams::split(text).map_err(unreadable)?;
        let filled = skillwire_client::expand(&text, variable).map_err(|unset| {
            Failure::usage(format!("`{}` cannot be used.", path.display())).because(unset)
        })?;
        let mut file: Self = toml::from_str(&filled).map_err(|error| {
            // The text may hold passwords by now, so that only the reason is shown.
            unreadable(error.message().to_owned())
        })?;
        file.upstreams = upstreams;
        folder.clone_into(&mut file.folder);
        file.keys = toml::from_str(&filled).unwrap_or_default();
        Ok(file)
    }

    /// All keys as they were written, with the values of variables.
    pub(crate) fn keys(&self) -> &toml::Table {
        &self.keys
    }

    /// Where the hub keeps what it knows.
    pub(crate) fn store(&self) -> Result<StoreOptions, Failure> {
        let database = database(&self.database.url, &self.folder)?;
        let mut options = StoreOptions::new(database, self.blobs.location(&self.folder)?);
        if let Some(connections) = self.database.connections {
            options = options.with_connections(connections);
        }
        Ok(options)
    }

    /// Where a replica keeps what it knows, and bytes that it read from an object store.
    pub(crate) fn replica_store(&self) -> Result<StoreOptions, Failure> {
        let options = self.store()?;
        let cache = self.blobs.cache.as_deref().unwrap_or(Path::new("cache"));
        let bytes = self.blobs.cache_mib.unwrap_or(CACHE_MIB).saturating_mul(1 << 20);
        Ok(match options.blobs {
            BlobLocation::S3(_) if bytes > 0 => {
                options.with_blob_cache(self.folder.join(cache), bytes)
            }
            _ => options,
        })
    }

    /// What the hub is called, and whose tokens it takes.
    pub(crate) fn identity(&self) -> HubIdentity {
        HubIdentity::new(&self.name, &self.audience).private_issuers(self.private_issuers.clone())
    }

    /// Which reads of clients are written to the log.
    pub(crate) fn recorded_reads(&self) -> Result<RecordedReads, Failure> {
        let reads = self.audit.reads.as_deref().map(|text| {
            text.parse::<RecordedReads>().map_err(|error| {
                Failure::usage(format!("`reads = \"{text}\"` in `[audit]` cannot be used."))
                    .because(error)
            })
        });
        Ok(reads.transpose()?.unwrap_or_default())
    }

    /// Where another database and other bytes are, as `hub migrate` names them.
    pub(crate) fn store_at(&self, to: &str, blobs: Option<&str>) -> Result<StoreOptions, Failure> {
        let blobs = match blobs {
            None => self.blobs.location(&self.folder)?,
            Some(url) => {
                let table = BlobsTable {
                    url: url.to_owned(),
                    endpoint: self.blobs.endpoint.clone().or_else(|| variable("AWS_ENDPOINT_URL")),
                    region: self.blobs.region.clone().or_else(|| variable("AWS_REGION")),
                    access_key: variable("AWS_ACCESS_KEY_ID").or(self.blobs.access_key.clone()),
                    secret_key: variable("AWS_SECRET_ACCESS_KEY").or(self.blobs.secret_key.clone()),
                    ..BlobsTable::default()
                };
                table.location(Path::new("."))?
            }
        };
        Ok(StoreOptions::new(database(to, Path::new("."))?, blobs))
    }

    /// How long a replica that lost its database goes on serving.
    pub(crate) fn stale_limit(&self) -> Result<Option<std::time::Duration>, Failure> {
        duration("stale-limit", self.stale_limit.as_deref())
    }

    /// What the operator limits and records.
    pub(crate) fn operating(&self) -> Result<OperatingSettings, Failure> {
        let words = OperatingWords {
            rate: ("limits.rate =", self.limits.rate.as_deref()),
            access_log: self.log.access.as_deref(),
            sample: ("log.sample =", self.log.sample.as_deref()),
        };
        OperatingSettings::resolve(&words, &self.folder)
    }

    /// The hosts and origins from which requests are accepted, besides those that were typed.
    pub(crate) fn access_rules(&self, typed: &[String]) -> AccessRules {
        let hosts = self.hosts.iter().chain(typed).map(|host| host.to_ascii_lowercase());
        AccessRules::default().hosts(hosts).origins(self.origins.iter().cloned())
    }

    /// Who is admitted and what decides.
    pub(crate) fn access(&self) -> Result<HubAccess, Failure> {
        self.access.resolve(&self.folder)
    }

    /// The upstreams that the file describes, each checked.
    pub(crate) fn upstreams(&self) -> Result<Vec<skillwire_hub::Upstream>, Failure> {
        hub_upstreams::resolve(&self.upstreams)
    }

    /// The signers whose signatures over content of upstreams are told.
    pub(crate) fn signers(&self) -> Result<HubSigners, Failure> {
        HubSigners::read(&self.folder, &self.signers)
    }

    /// The files in which signers may have their keys and roots.
    pub(crate) fn signer_files(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let named = self.signers.values().flat_map(SignerEntry::files);
        named.map(|file| self.folder.join(file))
    }

    /// The folder of the hub.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of the policy, if there is one.
    pub(crate) fn policy_file(&self) -> Option<PathBuf> {
        self.access.policy_file(&self.folder)
    }

    /// The folder of the keys that the hub signs with.
    pub(crate) fn key_folder(&self) -> PathBuf {
        self.access.key_folder(&self.folder)
    }

    /// How long a signed decision holds.
    pub(crate) fn valid_for(&self) -> Result<Option<std::time::Duration>, Failure> {
        self.access.valid_for()
    }

    /// How often the database is asked for changes.
    pub(crate) fn poll(&self) -> Result<Option<std::time::Duration>, Failure> {
        duration("poll", self.poll.as_deref())
    }
}

pub(super) fn duration(
    key: &str,
    text: Option<&str>,
) -> Result<Option<std::time::Duration>, Failure> {
    let parse = |text: &str| {
        humantime::parse_duration(text).map_err(|error| {
            Failure::usage(format!("`{key} = \"{text}\"` cannot be used.")).because(error)
        })
    };
    text.map(parse).transpose()
}

fn database(url: &str, folder: &Path) -> Result<DatabaseLocation, Failure> {
    let location: DatabaseLocation = url.parse().map_err(unusable)?;
    Ok(match location {
        DatabaseLocation::Sqlite(path) => DatabaseLocation::Sqlite(folder.join(path)),
        other @ DatabaseLocation::Postgres(_) => other,
    })
}

impl BlobsTable {
    fn location(&self, folder: &Path) -> Result<BlobLocation, Failure> {
        let Some(place) = self.url.strip_prefix("s3://") else {
            if self.url.contains("://") && !self.url.starts_with("file://") {
                return Err(Failure::usage(format!("`{}` is no place for bytes.", self.url))
                    .hint("Name a folder or `s3://BUCKET/PREFIX`."));
            }
            let path = self.url.strip_prefix("file://").unwrap_or(&self.url);
            return Ok(BlobLocation::Folder(folder.join(path)));
        };
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        let mut location = S3Location::new(bucket).with_prefix(prefix);
        if let Some(endpoint) = &self.endpoint {
            location = location.with_endpoint(endpoint);
        }
        if let Some(region) = &self.region {
            location = location.with_region(region);
        }
        if let (Some(access), Some(secret)) = (&self.access_key, &self.secret_key) {
            location = location.with_keys(access, secret);
        }
        Ok(BlobLocation::S3(location))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
fn unusable(error: skillwire_hub_store::StoreError) -> Failure {
    Failure::usage(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_hub_is_in_its_own_folder() {
        let file = HubFile::parse(NEW_HUB, Path::new("/hub"));
        let options = file.unwrap().store().unwrap();
        assert_eq!(options.database, DatabaseLocation::Sqlite("/hub/hub.db".into()));
        assert_eq!(options.blobs, BlobLocation::Folder("/hub/blobs".into()));
    }

    #[test]
    fn unknown_keys_and_places_are_refused() {
        let parse = |text: &str| HubFile::parse(text, Path::new("/hub"));
        let tables = "[database]\nurl = \"a\"\n[blobs]\nurl = \"gopher://x\"\n";
        assert!(parse(tables).unwrap().store().is_err());
        assert!(parse(&format!("colour = 1\n{tables}")).is_err());
        let s3 = "[database]\nurl = \"postgres://h/d\"\n[blobs]\nurl = \"s3://b/p/q\"\n";
        let options = parse(s3).unwrap().store().unwrap();
        assert_eq!(options.blobs.to_string(), "s3://b/p/q");
    }
}
