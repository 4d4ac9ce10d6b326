//! The last step: a process becomes the script.

use std::{path::Path, process::Command};

use super::super::protocol::{Program, Spec};

/// Where a script finds things.
pub(super) struct Places<'a> {
    pub(super) skill: &'a Path,
    pub(super) output: &'a Path,
    pub(super) temporary: &'a Path,
    /// The proxy's port.
    pub(super) proxy: Option<u16>,
}

/// What executes the script, with the environment that it gets.
pub(super) fn script(spec: &Spec, places: &Places<'_>) -> Command {
    let script = places.skill.join(spec.program.script());
    let mut command = match &spec.program {
        Program::Interpreter { path, options, .. } => {
            let mut command = Command::new(path);
            command.args(options).arg(&script);
            command
        }
        Program::Script(_) => Command::new(&script),
    };
    command
        .args(&spec.words)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", places.temporary)
        .env("TMPDIR", places.temporary)
        // Text is UTF-8; everything else about it needs no files that every program would read.
        .env("LANG", "C")
        .env("LC_CTYPE", "C.UTF-8")
        .env("SKILL_DIR", places.skill)
        .env("OUTPUT_DIR", places.output)
        .envs(spec.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(places.output);
    if let Some(port) = places.proxy {
        let proxy = format!("http://127.0.0.1:{port}");
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
            command.env(name, &proxy);
        }
    }
    command
}
