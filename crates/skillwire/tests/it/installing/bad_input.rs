//! Repositories that cannot be installed from: told clearly, and nothing is written.

use super::forge::Forge;

const AT: [&str; 4] = ["--agent", "claude-code", "--global", "--yes"];

/// Tries to install, and asserts that nothing was.
async fn refused(forge: &Forge, arguments: &[&str], code: i32, words: &str) {
    let ran = forge.run_add(&[arguments, &AT].concat()).await;
    ran.assert_refused(code, words);
    assert!(!forge.exists(".claude"), "{arguments:?} left something behind");
    assert!(!forge.exists("sw/state/store"), "{arguments:?} left something in the store");
}

#[tokio::test]
async fn an_absent_repository_ref_path_or_skill_is_not_found() {
    let forge = Forge::new();
    refused(&forge, &["acme/nothing"], 5, "does not exist, or is not for you").await;
    refused(&forge, &["acme/skills@v9", "pdf"], 5, "has no branch, tag or commit `v9`").await;
    refused(&forge, &["acme/skills/nowhere"], 5, "has no skill in `nowhere`").await;
    forge.repository("acme/empty").file("README.md", "x");
    forge.repository("acme/empty").commit("x");
    refused(&forge, &["acme/empty"], 5, "holds no skill").await;
    for (source, words) in [
        ("--upload-pack=touch", "unexpected argument"),
        ("https://example.com/mcp", "nothing tells whether"),
        ("acme/../x", "cannot be one"),
        ("a b", "holds a space"),
        ("nothing.zip", "cannot be read"),
        ("acme/skills@--upload-pack=x", "is not a branch, tag or commit"),
    ] {
        refused(&forge, &[source], 2, words).await;
    }
}

#[tokio::test]
async fn submodules_placeholders_links_and_twins_are_refused_by_name() {
    let forge = Forge::new();
    let inner = forge.repository("acme/inner");
    inner.file("x", "x");
    inner.commit("x");
    let bad = forge.repository("acme/bad");
    for name in ["module", "lfs", "link", "twins", "good"] {
        bad.skill(name, name, "Does something.");
    }
    let from = inner.path.to_str().unwrap().to_owned();
    bad.git(&["submodule", "--quiet", "add", &from, "module/inner"]);
    bad.file("lfs/w.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    bad.git(&["add", "--all"]);
    // Entries that this disk might not hold are made in the index alone.
    let blob = bad.git_with(&["hash-object", "-w", "--stdin"], "../../.ssh/id_rsa");
    let entries = format!(
        "120000 {blob} 0\tlink/key\n100644 {blob} 0\ttwins/Read.md\n100644 {blob} 0\ttwins/read.md\n"
    );
    bad.git_with(&["update-index", "--index-info"], &entries);
    bad.git(&["commit", "--quiet", "--message=bad"]);
    refused(&forge, &["acme/bad", "module"], 3, "`inner` is a submodule").await;
    refused(&forge, &["acme/bad", "lfs"], 3, "`w.bin` is stored with Git LFS").await;
    refused(&forge, &["acme/bad", "link"], 3, "the link `key` leads to `../../.ssh/id_rsa`").await;
    refused(&forge, &["acme/bad", "twins"], 3, "are one name on some disks").await;
    // Of all, those that can be installed are, and the exit code says that some were not.
    let ran = forge.run_add(&[&["acme/bad", "--all"][..], &AT].concat()).await.assert_exit(1);
    assert!(forge.exists(".claude/skills/good/SKILL.md"), "{ran:?}");
    for name in ["module", "lfs", "link", "twins"] {
        assert!(!forge.exists(&format!(".claude/skills/{name}")), "{name}");
    }
}

#[tokio::test]
async fn a_huge_repository_and_a_huge_skill_are_bounded() {
    let forge = Forge::new();
    let huge = forge.repository("acme/huge");
    let blob = huge.git_with(&["hash-object", "-w", "--stdin"], "x");
    let entries = (0..200_001).map(|n| format!("100644 {blob} 0\t{}/{n}\n", n % 1000));
    let entries = entries.collect::<Vec<_>>().concat();
    huge.git_with(&["update-index", "--index-info"], &entries);
    huge.git(&["commit", "--quiet", "--message=huge"]);
    refused(&forge, &["acme/huge"], 8, "is larger than 200000 files").await;
    let large = forge.repository("acme/large");
    large.skill("large", "large", "Is large.");
    (0..600).for_each(|n| large.file(&format!("large/{n}.txt"), "x"));
    large.commit("large");
    refused(&forge, &["acme/large"], 8, "is larger than 512 files").await;
}

#[tokio::test]
async fn a_skill_that_breaks_the_rules_and_two_of_one_name_are_refused() {
    let forge = Forge::new();
    let odd = forge.repository("acme/odd");
    odd.file("broken/SKILL.md", "no frontmatter\n");
    odd.skill("one/same", "same", "Is one.");
    odd.skill("two/same", "same", "Is two.");
    odd.commit("odd");
    refused(&forge, &["acme/odd", "broken"], 1, "`broken` cannot be installed").await;
    refused(&forge, &["acme/odd", "same"], 6, "Several skills are called `same`").await;
    refused(&forge, &["acme/odd", "--all"], 6, "both hold a skill `same`").await;
    forge.run_add(&[&["acme/odd", "two/same"][..], &AT].concat()).await.assert_exit(0);
    assert!(forge.read(".claude/skills/same/SKILL.md").contains("Is two."));
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_of_a_project_does_not_choose_where_files_are_written() {
    let forge = Forge::new();
    let work = forge.user.home.join("work");
    std::fs::create_dir_all(work.join(".git")).unwrap();
    std::fs::create_dir_all(forge.user.home.join("private")).unwrap();
    std::os::unix::fs::symlink(forge.user.home.join("private"), work.join(".claude")).unwrap();
    let arguments = ["acme/skills", "pdf", "--agent", "claude-code", "--yes"];
    forge.run_add(&arguments).await.assert_refused(8, "leads out of the project by a link");
    assert!(!forge.exists("private/skills"));
}

#[tokio::test]
async fn a_folder_that_looks_like_a_repository_is_named_fu_26() {
    let forge = Forge::new();
    forge.user.home.file("work/teams/skills/pdf/SKILL.md", skillwire_testkit::skill_md("pdf"));
    let ran = forge.run_add(&[&["teams/skills"][..], &AT].concat()).await.assert_exit(5);
    assert!(ran.stderr.contains("`teams/skills` is taken for a repository"), "{ran:?}");
    assert!(ran.stderr.contains("write `./teams/skills`"), "{ran:?}");
    let ran = forge.run_add(&[&["./teams/skills"][..], &AT].concat()).await.assert_exit(0);
    assert!(!ran.stderr.contains("is taken for a repository"), "{ran:?}");
    refused(&Forge::new(), &["./nothing"], 2, "Name a folder that exists").await;
}
