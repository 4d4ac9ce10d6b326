//! Hubs with many skills, in a folder of their own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use bytes::Bytes;
use serde::Deserialize;
use skillwire_core::RelPath;
use skillwire_hub::{Caller, Quotas, Subject};
use skillwire_hub_server::upload_of;
use skillwire_hub_store::{
    BlobLocation, DatabaseLocation, HubStore, NewNamespace, S3Location, StoreOptions, Upload,
};
use tempfile::TempDir;
use tokio::process::Command;

use super::super::{Bench, progress};
use crate::{
    broken::{Broken, Result},
    corpus,
    server::HttpServer,
};

/// The tables of a `hub.toml` for SQLite and a folder.
pub(in crate::measure) const EMBEDDED: &str =
    "[database]\nurl = \"hub.db\"\n\n[blobs]\nurl = \"blobs\"\n";

/// The namespace of large hubs.
pub(in crate::measure) const NAMESPACE: &str = "bench";

/// Skills that are published at once while a hub is filled.
const BATCH: usize = 200;

/// The folder of a hub, and its administrator's token.
pub(in crate::measure) struct HubPlace {
    pub(in crate::measure) folder: PathBuf,
    pub(in crate::measure) token: String,
    pub(in crate::measure) skills: usize,
    /// Deletes the folder of a hub that is for one run alone.
    _scratch: Option<TempDir>,
}

impl HubPlace {
    /// Makes a hub for this run, with that many small skills.
    pub(in crate::measure) async fn seeded(
        bench: &Bench,
        skills: usize,
        tables: &str,
    ) -> Result<Self> {
        Self::seeded_in(bench, skills, &[NAMESPACE], tables).await
    }

    /// The same with its skills in several namespaces.
    pub(in crate::measure) async fn seeded_in(
        bench: &Bench,
        skills: usize,
        namespaces: &[impl AsRef<str>],
        tables: &str,
    ) -> Result<Self> {
        let scratch = bench.new_home()?;
        let folder = scratch.path().join("hub");
        let mut hub = Self::make(bench.skillwire.path(), &folder, tables).await?;
        hub.fill(skills, namespaces).await?;
        Ok(Self { _scratch: Some(scratch), ..hub })
    }

    /// Finds or makes a hub with that many small skills, which later runs use again.
    pub(in crate::measure) async fn kept(bench: &Bench, skills: usize) -> Result<Self> {
        Self::kept_at(bench, &format!("hub-{skills}"), skills, &[NAMESPACE]).await
    }

    /// The same with its skills in several namespaces, in a folder with this name.
    pub(in crate::measure) async fn kept_at(
        bench: &Bench,
        name: &str,
        skills: usize,
        namespaces: &[impl AsRef<str>],
    ) -> Result<Self> {
        let home = bench.scratch.join(name);
        let (folder, marker) = (home.join("hub"), home.join("finished"));
        if let Ok(token) = fs::read_to_string(&marker) {
            return Ok(Self { folder, token, skills, _scratch: None });
        }
        if home.exists() {
            fs::remove_dir_all(&home).map_err(Broken::at(&home))?;
        }
        let mut hub = Self::make(bench.skillwire.path(), &folder, EMBEDDED).await?;
        hub.fill(skills, namespaces).await?;
        fs::write(&marker, &hub.token).map_err(Broken::at(&marker))?;
        Ok(hub)
    }

    /// Makes an empty hub with the program.
    pub(in crate::measure) async fn make(
        program: &Path,
        folder: &Path,
        tables: &str,
    ) -> Result<Self> {
        #[derive(Deserialize)]
        struct Made {
            token: String,
        }
        fs::create_dir_all(folder).map_err(Broken::at(folder))?;
        let file = folder.join("hub.toml");
        fs::write(&file, tables).map_err(Broken::at(&file))?;
        let made = Command::new(program)
            .args(["hub", "init"])
            .arg(folder)
            .arg("--json")
            .stdin(Stdio::null())
            .output()
            .await?;
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stderr);
            return Err(Broken::new(format!("`hub init` failed: {said}")));
        }
        let token = serde_json::from_slice::<Made>(&made.stdout)?.token;
        Ok(Self { folder: folder.to_owned(), token, skills: 0, _scratch: None })
    }

    /// The same hub in another folder, so that a second replica has a configuration of its own.
    pub(in crate::measure) fn beside(&self, folder: &Path) -> Result<Self> {
        let file = self.folder.join("hub.toml");
        let text = fs::read_to_string(&file).map_err(Broken::at(&file))?;
        let at = |name: &str| format!("\"{}\"", self.folder.join(name).display());
        let text = text.replace("\"hub.db\"", &at("hub.db")).replace("\"blobs\"", &at("blobs"));
        let copy = folder.join("hub.toml");
        fs::write(&copy, text).map_err(Broken::at(&copy))?;
        let (folder, token, skills) = (folder.to_owned(), self.token.clone(), self.skills);
        Ok(Self { folder, token, skills, _scratch: None })
    }

    /// The command that serves it.
    pub(in crate::measure) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.args(["hub", "serve"]).arg(&self.folder).args(["--listen", "127.0.0.1:0"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        command
    }

    pub(in crate::measure) async fn serve(&self, bench: &Bench) -> Result<HttpServer> {
        HttpServer::start(self.command(bench.skillwire.path())).await
    }

    /// Publishes skills of 40 KB, of which all but `SKILL.md` is the same everywhere.
    async fn fill(&mut self, skills: usize, namespaces: &[impl AsRef<str>]) -> Result<()> {
        let uploads = (0..skills).map(|at| {
            let namespace = namespaces[at % namespaces.len()].as_ref();
            upload(&format!("{namespace}/skill-{at:06}"), small_skill(at))
        });
        self.publish(namespaces, uploads, skills).await
    }

    /// Publishes uploads through the store, many at once.
    pub(in crate::measure) async fn publish(
        &mut self,
        namespaces: &[impl AsRef<str>],
        uploads: impl Iterator<Item = Result<Upload>>,
        count: usize,
    ) -> Result<()> {
        progress(&format!("a hub with {count} skills"));
        let store = HubStore::open(self.store()?).await.map_err(broken)?;
        let admin = Caller::administrator(Subject::parse("bench").map_err(broken)?);
        // Publications come on top of what is there.
        let mut quotas = Quotas::default();
        quotas.skills *= 2;
        for name in namespaces {
            let name = name.as_ref().parse().map_err(broken)?;
            let new = NewNamespace::new(name, admin.subject.clone()).with_quotas(quotas);
            store.create_namespace(&admin, new).await.map_err(broken)?;
        }
        let mut uploads = uploads.peekable();
        while uploads.peek().is_some() {
            let batch = uploads.by_ref().take(BATCH).collect::<Result<Vec<_>>>()?;
            self.skills += batch.len();
            store.publish_all(&admin, batch).await.map_err(broken)?;
        }
        store.close().await;
        Ok(())
    }

    /// Where the hub keeps what it knows, read from its `hub.toml`.
    pub(in crate::measure) fn store(&self) -> Result<StoreOptions> {
        let file = self.folder.join("hub.toml");
        let text = fs::read_to_string(&file).map_err(Broken::at(&file))?;
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            line.map(|text| text.trim_matches('"').to_owned())
        };
        let missing = || Broken::new("`hub.toml` is not one of the benchmark.");
        let mut urls = text.lines().filter_map(|line| line.strip_prefix("url = "));
        let mut url = || urls.next().map(|text| text.trim_matches('"')).ok_or_else(missing);
        let (database, blobs) = (url()?, url()?);
        let Some(place) = blobs.strip_prefix("s3://") else {
            let database = DatabaseLocation::Sqlite(self.folder.join(database));
            return Ok(StoreOptions::new(database, BlobLocation::Folder(self.folder.join(blobs))));
        };
        let (bucket, prefix) = place.split_once('/').ok_or_else(missing)?;
        let [endpoint, access, secret] = ["endpoint", "access-key", "secret-key"].map(value);
        let location = S3Location::new(bucket)
            .with_prefix(prefix)
            .with_endpoint(endpoint.ok_or_else(missing)?)
            .with_keys(access.ok_or_else(missing)?, secret.ok_or_else(missing)?);
        let database = DatabaseLocation::Postgres(database.to_owned());
        Ok(StoreOptions::new(database, BlobLocation::S3(location)))
    }
}

/// A skill of 40 KB in four files. Only its `SKILL.md` is its own, so that many of them are stored quickly.
pub(in crate::measure) fn small_skill(at: usize) -> Vec<(String, String)> {
    let corpus::Skill { files: shared, .. } = corpus::skill(0);
    let name = format!("skill-{at:06}");
    let mut text = format!(
        "---\nname: {name}\ndescription: The skill with number {at}, for those who ask for it.\n---\n"
    );
    while text.len() < 4_000 {
        text.push_str("A line of some text, as instructions have it.\n");
    }
    let mut files = vec![("SKILL.md".to_owned(), text)];
    for (path, content) in shared.into_iter().skip(1) {
        // Four files have 40 KB together.
        files.push((path, content.chars().cycle().take(12_000).collect()));
    }
    files
}

/// An upload of some files.
pub(in crate::measure) fn upload(skill: &str, files: Vec<(String, String)>) -> Result<Upload> {
    let files = files.into_iter().map(|(path, content)| {
        RelPath::parse(&path).map(|path| (path, Bytes::from(content))).map_err(broken)
    });
    upload_of(skill.parse().map_err(broken)?, files.collect::<Result<_>>()?)
        .map_err(|problem| Broken::new(problem.detail))
}

/// An error of the hub as a sentence.
pub(in crate::measure) fn broken(error: impl std::fmt::Display) -> Broken {
    Broken::new(error.to_string())
}
