//! Skills of real repositories, read by the real `git`.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::{fs, path::Path, process::Command};

use skillwire_core::RelPath;
use skillwire_git::{
    CommitId, GitError, GitLimits, GitOptions, GitRef, GitRepository, GitUrl, SkillFiles,
};
use tempfile::TempDir;

const SKILL: &str = "---\nname: refunds\ndescription: Use when a customer wants money back.\n---\n";

struct Repository(TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        repository.git(&["init", "--quiet", "--initial-branch=main", "."]);
        repository
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
            .args(["-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"])
            .args(arguments)
            .current_dir(self.0.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn commit(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=x"]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn url(&self) -> GitUrl {
        GitUrl::parse(&format!("file://{}", self.0.path().display())).unwrap()
    }

    async fn fetch(&self, reference: &str) -> Result<GitRepository, GitError> {
        let reference = GitRef::parse(reference).unwrap();
        GitRepository::fetch(&self.url(), &reference, options()).await
    }
}

#[expect(clippy::disallowed_methods, reason = "a test runs the `git` of its machine")]
fn options() -> GitOptions {
    let options = GitOptions::default().local(true);
    options.variable("PATH", std::env::var_os("PATH").unwrap())
}

fn names(files: &SkillFiles) -> Vec<&str> {
    files.iter().map(|(path, _)| path.as_str()).collect()
}

#[tokio::test]
async fn a_skill_is_read_at_a_ref_with_its_commit() {
    let repository = Repository::new();
    repository.write("skills/refunds/SKILL.md", SKILL).write("skills/refunds/a.txt", "old");
    repository.write("other/large.bin", vec![7; 100_000]).write("README.md", "x");
    let old = repository.commit();
    repository.git(&["tag", "v1"]);
    repository.write("skills/refunds/a.txt", "new").write("second/SKILL.md", SKILL);
    let new = repository.commit();
    for (reference, commit, text) in
        [("v1", &old, "old"), ("main", &new, "new"), (&new, &new, "new")]
    {
        let fetched = repository.fetch(reference).await.unwrap();
        assert_eq!(fetched.commit().as_str(), commit);
        let files = fetched.read_skill("skills/refunds").await.unwrap();
        assert_eq!(names(&files), ["SKILL.md", "a.txt"]);
        assert_eq!(files[1].1, text);
    }
    let head = GitRepository::fetch(&repository.url(), &GitRef::head(), options()).await.unwrap();
    assert_eq!(head.skill_folders(), ["second", "skills/refunds"]);
    let heads = head.read_skill_heads().await.unwrap();
    assert_eq!(heads.keys().collect::<Vec<_>>(), ["second", "skills/refunds"]);
    assert!(heads.values().all(|bytes| bytes == SKILL));
    let missing = head.read_skill("other").await.unwrap_err();
    assert!(matches!(missing, GitError::NoSkill(_)), "{missing}");
}

#[tokio::test]
async fn only_the_files_of_the_skill_are_fetched_where_the_server_can_filter() {
    let repository = Repository::new();
    repository.git(&["config", "uploadpack.allowFilter", "true"]);
    repository.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    // Random bytes do not compress, so that the bound would be passed if they were fetched.
    let noise: Vec<u8> =
        (0..400_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[1]).collect();
    repository.write("skills/refunds/SKILL.md", SKILL).write("large.bin", &noise);
    repository.commit();
    let options = options().limits(GitLimits::default().repository_bytes(150_000));
    let fetched = GitRepository::fetch(&repository.url(), &GitRef::head(), options).await.unwrap();
    let files = fetched.read_skill("skills/refunds").await.unwrap();
    assert_eq!(names(&files), ["SKILL.md"]);
}

#[tokio::test]
async fn hooks_submodules_and_links_that_lead_out_are_never_followed() {
    let inner = Repository::new();
    inner.write("x", "x");
    inner.commit();
    let repository = Repository::new();
    repository.write("a/SKILL.md", SKILL).write("a/inside.txt", "inside");
    repository.write("b/SKILL.md", SKILL).write("c/SKILL.md", SKILL).write("secret", "secret");
    #[cfg(unix)]
    {
        let root = repository.0.path();
        std::os::unix::fs::symlink("inside.txt", root.join("a/link.txt")).unwrap();
        std::os::unix::fs::symlink("../secret", root.join("b/link.txt")).unwrap();
    }
    let from = inner.0.path().to_str().unwrap().to_owned();
    repository.git(&["submodule", "--quiet", "add", &from, "c/module"]);
    repository.commit();
    let fetched = repository.fetch("main").await.unwrap();
    #[cfg(unix)]
    {
        let files = fetched.read_skill("a").await.unwrap();
        assert_eq!(files[2].1, "inside", "{files:?}");
        let refused = fetched.read_skill("b").await.unwrap_err();
        assert!(matches!(refused, GitError::Link { .. }), "{refused}");
    }
    let refused = fetched.read_skill("c").await.unwrap_err();
    assert!(matches!(refused, GitError::Submodule(_)), "{refused}");
}

#[tokio::test]
async fn bounds_and_placeholders_are_refused_by_name() {
    let repository = Repository::new();
    repository.write("a/SKILL.md", SKILL).write("a/big.txt", vec![b'x'; 5_000]);
    repository.write("lfs/SKILL.md", SKILL);
    repository.write("lfs/w.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    repository.commit();
    let fetch = async |limits| {
        GitRepository::fetch(&repository.url(), &GitRef::head(), options().limits(limits)).await
    };
    let refused = fetch(GitLimits::default().tree_files(2)).await.unwrap_err();
    assert!(matches!(refused, GitError::TooLarge { .. }), "{refused}");
    let small = fetch(GitLimits::default().skill(10, 1_000)).await.unwrap();
    let refused = small.read_skill("a").await.unwrap_err();
    assert!(refused.to_string().contains("`a` is larger than 1000 bytes"), "{refused}");
    let few = fetch(GitLimits::default().skill(1, 100_000)).await.unwrap();
    assert!(matches!(few.read_skill("a").await, Err(GitError::TooLarge { .. })));
    let whole = fetch(GitLimits::default()).await.unwrap();
    let refused = whole.read_skill("lfs").await.unwrap_err();
    assert!(matches!(refused, GitError::LargeFile(_)), "{refused}");
}

#[tokio::test]
async fn local_addresses_are_refused_unless_allowed_and_errors_say_what_git_said() {
    let repository = Repository::new();
    repository.write("a/SKILL.md", SKILL);
    repository.commit();
    let refused =
        GitRepository::fetch(&repository.url(), &GitRef::head(), options().local(false)).await;
    assert!(matches!(refused, Err(GitError::Protocol("file"))), "{refused:?}");
    let missing = repository.fetch("nowhere").await.unwrap_err().to_string();
    assert!(missing.contains("nowhere"), "{missing}");
    let absent = Path::new("/nonexistent/git");
    let options = options().program(absent);
    let refused = GitRepository::fetch(&repository.url(), &GitRef::head(), options).await;
    assert!(matches!(refused, Err(GitError::NotStarted(_))), "{refused:?}");
}

#[tokio::test]
async fn a_rewritten_history_and_another_repository_are_told_from_new_commits() {
    let repository = Repository::new();
    repository.write("a/SKILL.md", SKILL).write("a/run.sh", "#!/bin/sh\n");
    repository.git(&["add", "--all"]);
    repository.git(&["update-index", "--chmod=+x", "a/run.sh"]);
    repository.git(&["commit", "--quiet", "--message=x"]);
    let first = CommitId::parse(&repository.git(&["rev-parse", "HEAD"])).unwrap();
    repository.git(&["tag", "v1"]);
    let alone = repository.fetch("main").await.unwrap();
    assert!(alone.descends_from(&first).await.unwrap(), "a commit is part of its own history");
    repository.write("a/b.txt", "b");
    repository.git(&["add", "a/b.txt"]);
    repository.git(&["commit", "--quiet", "--message=x"]);
    let fetched = repository.fetch("main").await.unwrap();
    let names: Vec<_> = fetched.executable_files("a").into_iter().collect();
    assert_eq!(names, [RelPath::parse("run.sh").unwrap()]);
    assert!(fetched.descends_from(&first).await.unwrap());
    assert!(!fetched.is_tag().await.unwrap());
    assert!(repository.fetch("v1").await.unwrap().is_tag().await.unwrap());
    repository.git(&["checkout", "--quiet", "--orphan", "other"]);
    repository.write("a/b.txt", "c");
    repository.commit();
    repository.git(&["branch", "--quiet", "--force", "main", "other"]);
    let rewritten = repository.fetch("main").await.unwrap();
    assert!(!rewritten.descends_from(&first).await.unwrap());
    let nowhere = CommitId::parse(&"0".repeat(40)).unwrap();
    assert!(!rewritten.descends_from(&nowhere).await.unwrap());
}
