use std::{fs, path::Path};

use skillwire_core::received::{EntryLimits, EntryProblem};
use skillwire_trust::Reason;
use tempfile::TempDir;

use super::*;

/// A base with skill folders in it.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let full = self.path().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, text).unwrap();
        self
    }

    fn skill(&self, path: &str) -> &Self {
        let name = path.rsplit('/').next().unwrap();
        let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\nBody.\n");
        self.file(&format!("{path}/SKILL.md"), text)
    }

    fn discover(&self) -> Discovery {
        discover(Some(self.path()), None)
    }
}

fn handles(discovery: &Discovery) -> Vec<&str> {
    discovery.skills.iter().map(LocalSkill::handle).collect()
}

fn codes(discovery: &Discovery) -> Vec<&'static str> {
    discovery.findings.iter().map(|finding| finding.code.as_str()).collect()
}

fn body(skill: &LocalSkill) -> String {
    let file = skill.read(skill.entry().uri.file()).unwrap();
    String::from_utf8(file.bytes().to_vec()).unwrap()
}

#[test]
fn every_client_folder_is_read_hst_119() {
    let home = Machine::new();
    for (index, folder) in READ_FOLDERS.iter().enumerate() {
        home.skill(&format!("{folder}/skill-{index}"));
    }
    home.skill(".agents/skills/team/billing/refunds").skill("skills/elsewhere");
    let discovery = home.discover();
    let expected: Vec<String> = std::iter::once("local:skill-0".to_owned())
        .chain(std::iter::once("local:refunds".to_owned()))
        .chain((1..7).map(|index| format!("local:skill-{index}")))
        .collect();
    assert_eq!(handles(&discovery), expected);
    assert!(discovery.findings.is_empty(), "{:?}", discovery.findings);
    let refunds = &discovery.skills[1];
    let uri = refunds.entry().uri.as_str();
    assert_eq!(uri, "local://.agents/skills/team/billing/refunds/SKILL.md");
    let directory = home.path().join(".agents/skills/team/billing/refunds");
    assert_eq!(refunds.directory(), fs::canonicalize(directory).unwrap());
    assert!(body(refunds).ends_with("Body.\n"));
}

#[test]
fn the_project_wins_over_the_user_and_says_so_fmt_32() {
    let home = Machine::new();
    home.skill(".claude/skills/pdf").skill(".agents/skills/pdf").skill(".agents/skills/own");
    let project = Machine::new();
    project.skill(".claude/skills/pdf").file(".claude/skills/pdf/notes.md", "Other.\n");
    let trusted = Some((project.path(), ProjectTrust::Trusted));
    let discovery = discover(Some(home.path()), trusted);
    let all = ["project:pdf", "local:own", "local:pdf", "local:.claude/skills/pdf"];
    assert_eq!(handles(&discovery), all);
    let hidden: Vec<_> = discovery.skills.iter().map(LocalSkill::hidden_by).collect();
    assert_eq!(hidden, [None, None, Some("project:pdf"), Some("project:pdf")]);
    assert_eq!(codes(&discovery), ["duplicate-name", "duplicate-name"]);
    assert!(discovery.findings.iter().all(|finding| finding.level == Level::Warning));
    assert!(discovery.skills.iter().all(|skill| body(skill).contains("Body.")));
}

#[test]
fn names_of_commands_and_of_others_get_qualified_handles_h_56() {
    let (home, project) = (Machine::new(), Machine::new());
    home.skill(".agents/skills/help").skill(".agents/skills/mcp");
    project.skill(".agents/skills/help");
    let trusted = Some((project.path(), ProjectTrust::Trusted));
    let discovery = discover(Some(home.path()), trusted);
    assert_eq!(handles(&discovery), ["project:help", "local:help", "local:mcp"]);
    let ids: std::collections::BTreeSet<_> = discovery.skills.iter().map(LocalSkill::id).collect();
    assert_eq!(ids.len(), 3, "identity is origin and URI");
}

#[test]
fn twins_of_a_name_are_no_valid_names_h_57() {
    let home = Machine::new();
    home.skill(".agents/skills/pdf");
    let long = format!("x{}", "é".repeat(70));
    let twins = ["PDF", "рdf", "pdf\u{200b}", "ｐdf", &long];
    for (directory, name) in ["a", "b", "c", "d", "e"].iter().zip(twins) {
        let text = format!("---\nname: \"{name}\"\ndescription: Twin.\n---\n");
        home.file(&format!(".agents/skills/{directory}/SKILL.md"), text);
    }
    let discovery = home.discover();
    assert_eq!(handles(&discovery), ["local:pdf"]);
    assert_eq!(codes(&discovery), ["name-invalid"; 5]);
}

#[test]
fn an_untrusted_project_is_listed_and_nothing_of_it_is_read_fmt_33() {
    let (home, project) = (Machine::new(), Machine::new());
    home.skill(".agents/skills/pdf");
    project.skill(".agents/skills/pdf").file(".claude/skills/evil/SKILL.md", "not even yaml");
    let untrusted = Some((project.path(), ProjectTrust::Untrusted));
    let discovery = discover(Some(home.path()), untrusted);
    assert_eq!(handles(&discovery), ["local:pdf"]);
    assert_eq!(discovery.skills[0].hidden_by(), None);
    let gated: Vec<_> = discovery.gated.iter().map(GatedSkill::path).collect();
    assert_eq!(gated, [".agents/skills/pdf", ".claude/skills/evil"]);
    assert_eq!(discovery.gated[0].refusal().reason, Reason::ProjectUntrusted);
    assert!(discovery.findings.is_empty(), "what is wrong with it would mean it was read");
}

#[test]
fn the_home_folder_is_not_a_project_fmt_33() {
    let home = Machine::new();
    home.skill(".agents/skills/pdf");
    let here = Some((home.path(), ProjectTrust::Untrusted));
    let discovery = discover(Some(home.path()), here);
    assert_eq!(handles(&discovery), ["local:pdf"]);
    assert!(discovery.gated.is_empty());
}

#[test]
fn a_copy_for_another_agent_is_hidden_without_a_warning() {
    let home = Machine::new();
    home.skill(".claude/skills/pdf").skill(".agents/skills/pdf");
    let discovery = home.discover();
    let hidden: Vec<_> = discovery.skills.iter().map(LocalSkill::hidden_by).collect();
    assert_eq!(hidden, [None, Some("local:pdf")]);
    assert!(discovery.findings.is_empty(), "{:?}", discovery.findings);
}

#[test]
fn a_name_unlike_its_directory_is_a_warning_fmt_30() {
    let home = Machine::new();
    let text = "---\nname: pdf\ndescription: Reads PDF files.\n---\n";
    home.file(".agents/skills/PDF Tools/SKILL.md", text).skill(".agents/skills/pdf");
    let discovery = home.discover();
    let uris: Vec<_> = discovery.skills.iter().map(|skill| skill.entry().uri.as_str()).collect();
    assert_eq!(
        uris,
        ["local://.agents/skills/PDF%20Tools/pdf/SKILL.md", "local://.agents/skills/pdf/SKILL.md"]
    );
    assert_eq!(handles(&discovery), ["local:pdf", "local:.agents/skills/pdf"]);
    assert_eq!(codes(&discovery), ["name-not-directory", "duplicate-name"]);
    assert!(discovery.findings.iter().all(|finding| finding.level == Level::Warning));
    assert_eq!(body(&discovery.skills[0]), text);
}

#[test]
fn a_long_name_is_cut_and_a_colon_is_quoted_fmt_30() {
    let home = Machine::new();
    let long = format!("{}-{}", "a".repeat(63), "b".repeat(20));
    let text = format!("---\nname: {long}\ndescription: Use when: always\n---\nBody.\n");
    home.file(&format!(".agents/skills/{long}/SKILL.md"), text);
    home.file(
        ".agents/skills/pdf-tools/SKILL.md",
        "---\nname: pdf\ndescription: Reads: \"PDF\" files\nlicense: See: LICENSE\n---\nBody.\n",
    );
    home.file(".agents/skills/pdf-tools/references/a.md", "# A\n");
    let discovery = home.discover();
    let names: Vec<_> = handles(&discovery);
    assert_eq!(names, [&format!("local:{}", "a".repeat(63)), "local:pdf"]);
    assert_eq!(
        codes(&discovery),
        [
            "yaml-unquoted-colon",
            "name-invalid",
            "yaml-unquoted-colon",
            "yaml-unquoted-colon",
            "name-not-directory"
        ]
    );
    assert!(discovery.findings.iter().all(|finding| finding.level == Level::Warning));
    let pdf = &discovery.skills[1];
    assert_eq!(pdf.entry().uri.as_str(), "local://.agents/skills/pdf-tools/pdf/SKILL.md");
    assert_eq!(pdf.entry().frontmatter.description(), "Reads: \"PDF\" files");
    let bytes = body(pdf);
    assert!(bytes.contains("license: \"See: LICENSE\"") && bytes.ends_with("---\nBody.\n"));
    skillwire_trust::check_frontmatter(pdf.id(), &pdf.entry().frontmatter, bytes.as_bytes())
        .unwrap();
    let other = pdf.entry().uri.root().child(&"references/a.md".parse_path());
    assert_eq!(&pdf.read(&other).unwrap().bytes()[..], b"# A\n");
}

#[test]
fn a_long_description_is_a_warning_fmt_30() {
    let home = Machine::new();
    let long = ["word"; 400].join(" ");
    home.file(".agents/skills/pdf/SKILL.md", format!("---\nname: pdf\ndescription: {long}\n---\n"));
    let discovery = home.discover();
    assert_eq!(handles(&discovery), ["local:pdf"]);
    assert_eq!(codes(&discovery), ["description-too-long"]);
    assert!(body(&discovery.skills[0]).contains("word"));
}

#[test]
fn without_a_description_or_with_broken_yaml_a_skill_is_skipped_fmt_30() {
    let home = Machine::new();
    home.file(".agents/skills/a/SKILL.md", "---\nname: a\n---\n");
    home.file(".agents/skills/b/SKILL.md", "---\nname: [b\ndescription: x\n---\n");
    home.file(".agents/skills/c/SKILL.md", "---\nname: c\ndescription: x: y\nmore: &a 1\n---\n");
    home.file(".agents/skills/d/SKILL.md", "No frontmatter.\n");
    home.skill(".agents/skills/e");
    let discovery = home.discover();
    assert_eq!(handles(&discovery), ["local:e"]);
    let skipped = ["a", "b", "c", "d"].map(|name| format!(".agents/skills/{name}/SKILL.md"));
    for file in skipped {
        assert!(discovery.findings.iter().any(|f| f.file == file && f.level == Level::Error));
    }
}

#[test]
fn the_same_faults_are_never_forgiven_a_server_fmt_30() {
    let read = |name: &str| {
        let entry = serde_json::json!({
            "uri": "skill://pdf/SKILL.md",
            "frontmatter": {"name": name, "description": "Use: me"},
            "resources": "dynamic",
        });
        skillwire_core::received::read(&entry.to_string(), EntryLimits::default())
    };
    let long = format!("{}-{}", "a".repeat(63), "b".repeat(20));
    assert_eq!(read(&long).unwrap_err().problem, EntryProblem::Name);
    assert_eq!(read("other").unwrap_err().problem, EntryProblem::NameMismatch);
    let listed = read("pdf").unwrap();
    let origin = Origin::parse("acme").unwrap();
    let id = skillwire_trust::SkillId { origin, uri: listed.uri.clone() };
    let colon = b"---\nname: pdf\ndescription: Use: me\n---\n";
    let refused = skillwire_trust::check_frontmatter(&id, &listed.frontmatter, colon).unwrap_err();
    assert_eq!(refused.reason, Reason::FrontmatterUnreadable);
}

#[test]
fn no_more_is_mended_than_memory_is_set_aside_for_fmt_30() {
    let home = Machine::new();
    for name in ["a", "b"] {
        let text = format!("---\nname: {name}\ndescription: Use: me\n---\n");
        assert_eq!(text.len(), 37);
        home.file(&format!(".agents/skills/{name}/SKILL.md"), text);
        home.file(&format!(".agents/skills/{name}/more.md"), [b'x'; 40]);
    }
    let limits = SearchLimits { mended: 77 + 60, ..SearchLimits::default() };
    let discovery = discover_within(Some(home.path()), None, limits);
    assert_eq!(handles(&discovery), ["local:a"]);
    assert_eq!(discovery.findings[1].level, Level::Error, "the other is as wrong as it ever was");
}

#[test]
fn litter_is_not_looked_into_fmt_31() {
    let home = Machine::new();
    for litter in [".git", "node_modules", "deep/node_modules"] {
        home.skill(&format!(".agents/skills/{litter}/hidden"));
    }
    home.skill(".agents/skills/deep/shown");
    let discovery = home.discover();
    assert_eq!(handles(&discovery), ["local:shown"]);
}

#[test]
fn depth_and_number_of_directories_are_bounded_fmt_31() {
    let home = Machine::new();
    home.skill(".agents/skills/1/2/3/4/5/six").skill(".agents/skills/1/2/3/4/5/6/seven");
    let discovery = home.discover();
    assert_eq!(handles(&discovery), ["local:six"]);
    assert_eq!(codes(&discovery), ["too-deep"]);

    let wide = Machine::new();
    for n in 0..30 {
        wide.skill(&format!(".agents/skills/skill-{n:02}"));
    }
    wide.skill(".claude/skills/other");
    let limits = SearchLimits { directories: 11, ..SearchLimits::default() };
    let discovery = discover_within(Some(wide.path()), None, limits);
    let mut expected: Vec<_> = (0..10).map(|n| format!("local:skill-{n:02}")).collect();
    expected.push("local:other".to_owned());
    assert_eq!(handles(&discovery), expected, "the first ones, and other folders all the same");
    assert_eq!(codes(&discovery), ["too-many-files"]);
    let limits = SearchLimits { bytes: 100, ..SearchLimits::default() };
    let discovery = discover_within(Some(wide.path()), None, limits);
    assert_eq!(discovery.skills.len(), 2);
    assert_eq!(codes(&discovery), ["too-many-bytes"]);
}

#[test]
fn reads_are_compared_with_what_was_listed_hst_119() {
    let home = Machine::new();
    home.skill(".agents/skills/pdf").file(".agents/skills/pdf/a.md", "before");
    let discovery = home.discover();
    let skill = &discovery.skills[0];
    let uri = |path: &str| skill.entry().uri.root().child(&path.parse_path());
    assert_eq!(&skill.read(&uri("a.md")).unwrap().bytes()[..], b"before");
    home.file(".agents/skills/pdf/a.md", "befora");
    assert_eq!(skill.read(&uri("a.md")).unwrap_err().reason, Reason::DigestMismatch);
    home.file(".agents/skills/pdf/a.md", "longer than before");
    assert_eq!(skill.read(&uri("a.md")).unwrap_err().reason, Reason::DigestMismatch);
    home.file(".agents/skills/pdf/new.md", "new");
    assert_eq!(skill.read(&uri("new.md")).unwrap_err().reason, Reason::FileNotListed);
    let outside = discovery.skills[0].entry().uri.root().parent().unwrap();
    let outside = outside.child(&"other/SKILL.md".parse_path());
    assert_eq!(skill.read(&outside).unwrap_err().reason, Reason::PathOutsideSkill);
}

#[test]
fn a_skill_that_changed_before_its_first_read_is_refused_hst_119() {
    let home = Machine::new();
    home.skill(".agents/skills/pdf");
    let discovery = home.discover();
    home.file(".agents/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Other.\n---\nEvil.\n");
    let skill = &discovery.skills[0];
    let refusal = skill.read(skill.entry().uri.file()).unwrap_err();
    assert_eq!(refusal.reason, Reason::DigestMismatch);
    fs::remove_dir_all(home.path().join(".agents")).unwrap();
    let again = home.discover();
    assert!(again.skills.is_empty());
    assert_eq!(skill.read(skill.entry().uri.file()).unwrap_err().reason, Reason::DigestMismatch);
}

#[test]
fn a_read_looks_at_no_other_file_of_the_skill_hst_119() {
    let home = Machine::new();
    home.skill(".agents/skills/pdf").file(".agents/skills/pdf/a.md", "listed");
    let skill = &home.discover().skills[0];
    home.file(".agents/skills/pdf/SKILL.md", "No skill any more.");
    let a = skill.entry().uri.root().child(&"a.md".parse_path());
    assert_eq!(&skill.read(&a).unwrap().bytes()[..], b"listed");
    assert_eq!(skill.read(skill.entry().uri.file()).unwrap_err().reason, Reason::DigestMismatch);
}

#[cfg(unix)]
#[test]
fn a_folder_that_became_a_link_is_not_read_hst_119() {
    let home = Machine::new();
    home.skill(".agents/skills/pdf").file(".agents/skills/pdf/a.md", "listed");
    let skill = &home.discover().skills[0];
    fs::rename(home.path().join(".agents"), home.path().join("moved")).unwrap();
    std::os::unix::fs::symlink("moved", home.path().join(".agents")).unwrap();
    let a = skill.entry().uri.root().child(&"a.md".parse_path());
    assert_eq!(skill.read(&a).unwrap_err().reason, Reason::DigestMismatch);
}

#[cfg(target_os = "linux")]
#[test]
fn neither_listing_nor_reading_holds_a_folder_open_hst_119() {
    let home = Machine::new();
    home.skill(".agents/skills/pdf");
    let skill = &home.discover().skills[0];
    skill.read(skill.entry().uri.file()).unwrap();
    let here = fs::canonicalize(home.path()).unwrap();
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let held = open.filter_map(|open| fs::read_link(open.path()).ok());
    assert_eq!(held.filter(|path| path.starts_with(&here)).count(), 0);
}

#[cfg(unix)]
#[test]
fn links_are_followed_inside_the_base_only_and_once_hst_119() {
    use std::os::unix::fs::symlink;

    let (home, outside) = (Machine::new(), Machine::new());
    outside.skill("stolen");
    home.skill(".agents/skills/pdf").skill("src/mine");
    let at = |path: &str| home.path().join(path);
    symlink(at("src/mine"), at(".agents/skills/mine")).unwrap();
    symlink(outside.path().join("stolen"), at(".agents/skills/stolen")).unwrap();
    symlink(at(".agents/skills"), at(".agents/skills/loop")).unwrap();
    symlink("nowhere", at(".agents/skills/broken")).unwrap();
    fs::create_dir_all(at(".claude")).unwrap();
    symlink("../.agents/skills", at(".claude/skills")).unwrap();
    let discovery = home.discover();
    assert_eq!(handles(&discovery), ["local:pdf", "local:mine"]);
    assert_eq!(codes(&discovery), ["symlink-not-scanned"]);
    assert!(body(&discovery.skills[1]).contains("name: mine"));
    let real = fs::canonicalize(home.path()).unwrap();
    let behind = [".agents/skills", "src/mine"].map(|path| real.join(path));
    assert!(discovery.behind_links.iter().eq(&behind), "{:?}", discovery.behind_links);
}

#[cfg(unix)]
#[test]
fn a_link_in_a_skill_that_leaves_it_keeps_the_skill_out_hst_119() {
    use std::os::unix::fs::symlink;

    let home = Machine::new();
    home.file("secret", "secret").skill(".agents/skills/pdf");
    symlink(home.path().join("secret"), home.path().join(".agents/skills/pdf/a.md")).unwrap();
    let colon = "---\nname: mend\ndescription: Use: me\n---\n";
    home.file(".agents/skills/mend/SKILL.md", colon);
    symlink(home.path().join("secret"), home.path().join(".agents/skills/mend/a.md")).unwrap();
    let discovery = home.discover();
    assert!(discovery.skills.is_empty());
    assert!(codes(&discovery).contains(&"symlink-outside"));
}

#[test]
fn a_skill_with_private_files_is_usable_at_home_hst_119() {
    let home = Machine::new();
    home.skill(".agents/skills/pdf").file(".agents/skills/pdf/.env", "KEY=1");
    assert_eq!(handles(&home.discover()), ["local:pdf"]);
}

#[test]
fn nested_skills_are_skills_of_their_own_hst_119() {
    let home = Machine::new();
    home.skill(".agents/skills/outer").skill(".agents/skills/outer/skills/inner");
    let discovery = home.discover();
    assert_eq!(handles(&discovery), ["local:outer", "local:inner"]);
    let inner = &discovery.skills[1];
    assert!(body(inner).contains("name: inner"));
    assert!(inner.directory().ends_with("outer/skills/inner"));
}

#[test]
fn without_folders_there_is_nothing() {
    let discovery = Machine::new().discover();
    assert!(discovery.skills.is_empty() && discovery.findings.is_empty());
    let gone = discover(Some(Path::new("/nonexistent/home")), None);
    assert!(gone.skills.is_empty());
}

trait ParsePath {
    fn parse_path(&self) -> skillwire_core::RelPath;
}

impl ParsePath for str {
    fn parse_path(&self) -> skillwire_core::RelPath {
        skillwire_core::RelPath::parse(self).unwrap()
    }
}
