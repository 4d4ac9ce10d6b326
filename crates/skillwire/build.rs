//! Tells the program which commit it was built from.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// Names the commit in builds without a checkout, such as those from an archive of the source.
const COMMIT: &str = "SKILLWIRE_COMMIT";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={COMMIT}");
    println!("cargo::rustc-env=SKILLWIRE_TARGET={}", variable("TARGET").unwrap_or_default());
    let commit = variable(COMMIT).or_else(|| {
        let folder = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
        commit_of_checkout(&folder)
    });
    if let Some(commit) = commit.filter(|commit| is_commit(commit)) {
        println!("cargo::rustc-env={COMMIT}={commit}");
    }
}

/// The commit that is checked out, if this folder is part of a checkout of this repository, and not one
/// that lies in a repository of another project.
fn commit_of_checkout(folder: &Path) -> Option<String> {
    if git(folder, &["rev-parse", "--show-prefix"])? != "crates/skillwire/" {
        return None;
    }
    let commit = git(folder, &["rev-parse", "HEAD"])?;
    let branch = git(folder, &["symbolic-ref", "--quiet", "HEAD"]);
    // The log of `HEAD` grows with each commit, also where the branch is not a file of its own.
    for name in ["HEAD", "logs/HEAD"].into_iter().chain(branch.as_deref()) {
        let file = git(folder, &["rev-parse", "--git-path", name]).map(|file| folder.join(file));
        // Cargo would run this script in every build for a file that is not there.
        if let Some(file) = file.filter(|file| file.is_file()) {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
    Some(commit)
}

/// One line that git prints; `None` where there is no git or no repository.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let ran = Command::new("git").args(arguments).current_dir(folder).output().ok()?;
    let line = String::from_utf8(ran.stdout).ok()?;
    ran.status.success().then(|| line.trim().to_owned())
}

/// Whether this is the full name of a commit, by SHA-1 or SHA-256.
fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn variable(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "Cargo passes everything in variables")]
    env::var(name).ok().filter(|value| !value.is_empty())
}
