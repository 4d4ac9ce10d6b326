//! PostgreSQL and an S3 server, which `tools/hub/engines.py` starts.

use std::{collections::BTreeMap, path::Path, process::Stdio};

use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::{
    broken::{Broken, Result},
    server::PATIENCE,
};

/// Both servers, until this is dropped.
pub(super) struct Engines {
    /// The servers end with their standard input, which ends with this.
    _child: Child,
    tables: BTreeMap<String, String>,
}

impl Engines {
    pub(super) async fn start() -> Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/hub/engines.py");
        let mut child = Command::new("python3")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| Broken::new(format!("`python3` does not start: {error}.")))?;
        let output = child.stdout.take().ok_or_else(|| Broken::new("There is no output."))?;
        let mut lines = BufReader::new(output).lines();
        let line = timeout(PATIENCE, lines.next_line()).await;
        let line = line.map_err(|_| Broken::new("The engines did not start in time."))??;
        let line = line.ok_or_else(|| {
            Broken::new("Run `tools/hub/install-engines` to have PostgreSQL and an S3 server.")
        })?;
        Ok(Self { tables: serde_json::from_str(&line)?, _child: child })
    }

    /// The tables of a `hub.toml` for one of some databases.
    pub(super) fn tables(&self, number: usize) -> Result<&str> {
        let tables = self.tables.values().nth(number).map(String::as_str);
        tables.ok_or_else(|| Broken::new("There are not that many databases."))
    }
}
