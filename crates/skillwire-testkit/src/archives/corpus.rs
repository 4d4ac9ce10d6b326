//! Every archive of the corpus, with the reason for which it must be refused.

use super::{
    tar::{TarMember, gzip, tar},
    zip::{ZipMember, zip},
};

/// An archive of the corpus.
#[derive(Debug, Clone)]
pub struct ArchiveSample {
    /// The name of the sample in test output.
    pub name: &'static str,
    /// The archive.
    pub bytes: Vec<u8>,
    /// The reason code of its refusal, if it is hostile.
    pub refused: Option<&'static str>,
}

/// The files of the skill `refunds`, by path.
pub fn refunds() -> [(&'static str, &'static str); 3] {
    [
        (
            "SKILL.md",
            "---\nname: refunds\ndescription: Handle a customer refund by the book. Use when \
             money goes back.\nlicense: Apache-2.0\nmetadata:\n  version: \"2.1.0\"\n---\n\n# \
             Refunds\n\n1. Run `scripts/calc.py`.\n2. Answer with `examples/email.md`.\n",
        ),
        ("examples/email.md", "Hello,\n\nyour refund is on its way.\n"),
        ("scripts/calc.py", "import sys\nprint(round(float(sys.argv[1]) * 0.9, 2))\n"),
    ]
}

/// Returns the whole corpus, good archives first.
pub fn corpus() -> Vec<ArchiveSample> {
    let mut samples = good();
    samples.extend(hostile_tars());
    samples.extend(hostile_zips());
    samples
}

const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;

fn skill_md() -> TarMember {
    TarMember::file("SKILL.md", refunds()[0].1)
}

fn zipped_skill_md() -> ZipMember {
    ZipMember::new("SKILL.md", refunds()[0].1, FILE)
}

fn members() -> Vec<TarMember> {
    let program = |path: &str| if path.starts_with("scripts/") { 0o755 } else { 0o644 };
    refunds().map(|(path, text)| TarMember::file(path, text).mode(program(path))).to_vec()
}

fn good() -> Vec<ArchiveSample> {
    let ok = |name, bytes| ArchiveSample { name, bytes, refused: None };
    let program = |path: &str| if path.starts_with("scripts/") { PROGRAM } else { FILE };
    let zipped = refunds().map(|(path, text)| ZipMember::new(path, text, program(path)));
    let mut linked = members();
    linked.push(TarMember::symlink("examples/alias.md", "../SKILL.md"));
    let setuid = TarMember::file("scripts/x.sh", "#!/bin/sh\n").mode(0o6755).owner(1234);
    vec![
        ok("ok.tar.gz", gzip(&tar(&members()), 0)),
        ok("ok.zip", zip(&zipped)),
        ok("ok-inner-symlink.tar.gz", gzip(&tar(&linked), 0)),
        ok("ok-setuid.tar.gz", gzip(&tar(&[skill_md(), setuid]), 0)),
    ]
}

fn hostile_tars() -> Vec<ArchiveSample> {
    // A valid `SKILL.md` comes first, so that only the entries after it can be the reason.
    let bad = |name, refused, others: Vec<TarMember>| {
        let members: Vec<_> = std::iter::once(skill_md()).chain(others).collect();
        ArchiveSample { name, bytes: gzip(&tar(&members), 9), refused: Some(refused) }
    };
    let alone = |name, members: &[TarMember]| ArchiveSample {
        name,
        bytes: gzip(&tar(members), 9),
        refused: Some("archive_no_skill_file"),
    };
    let wrapped: Vec<_> =
        refunds().map(|(path, text)| TarMember::file(&format!("refunds/{path}"), text)).to_vec();
    let file = |name: &str| vec![TarMember::file(name, "x")];
    vec![
        bad("bad-dotdot.tar.gz", "archive_path", file("../evil.md")),
        bad("bad-dotdot-middle.tar.gz", "archive_path", file("a/../../evil.md")),
        bad("bad-absolute.tar.gz", "archive_path", file("/etc/evil")),
        bad(
            "bad-symlink-escape.tar.gz",
            "archive_link",
            vec![TarMember::symlink("k", "../../../etc/passwd")],
        ),
        bad(
            "bad-symlink-absolute.tar.gz",
            "archive_link",
            vec![TarMember::symlink("k", "/etc/passwd")],
        ),
        bad(
            "bad-symlink-chain.tar.gz",
            "archive_link",
            vec![
                TarMember::symlink("d/up", ".."),
                TarMember::symlink("d/up2", "up/.."),
                TarMember::file("d/up2/evil.md", "x"),
            ],
        ),
        bad(
            "bad-write-through-symlink.tar.gz",
            "archive_link",
            vec![TarMember::symlink("out", "/tmp"), TarMember::file("out/evil.md", "x")],
        ),
        bad(
            "bad-hardlink-escape.tar.gz",
            "archive_link",
            vec![TarMember::hard_link("k", "../../secret")],
        ),
        bad("bad-device.tar.gz", "archive_special", vec![TarMember::of_kind("null", b'3')]),
        bad("bad-fifo.tar.gz", "archive_special", vec![TarMember::of_kind("pipe", b'6')]),
        bad("bad-case-collision.tar.gz", "archive_twins", file("skill.md")),
        bad(
            "bad-unicode-collision.tar.gz",
            "archive_twins",
            vec![TarMember::file("caf\u{e9}.md", "1"), TarMember::file("cafe\u{301}.md", "2")],
        ),
        bad(
            "bad-duplicate.tar.gz",
            "archive_twins",
            vec![TarMember::file("a.md", "1"), TarMember::file("a.md", "2")],
        ),
        alone("bad-wrapper-dir.tar.gz", &wrapped),
        alone("bad-no-skill-md.tar.gz", &[TarMember::file("README.md", "x")]),
        bad(
            "bad-too-many.tar.gz",
            "archive_too_many",
            (0..512).map(|number| TarMember::file(&format!("f{number:04}"), "")).collect(),
        ),
        bad("bad-too-deep.tar.gz", "archive_too_deep", file(&(["d"; 40].join("/") + "/f"))),
        bad(
            "bad-bomb.tar.gz",
            "archive_ratio",
            vec![TarMember::file("zero", vec![0; 17 * 1024 * 1024])],
        ),
    ]
}

fn hostile_zips() -> Vec<ArchiveSample> {
    let bad = |name, refused, other: ZipMember| ArchiveSample {
        name,
        bytes: zip(&[zipped_skill_md(), other]),
        refused: Some(refused),
    };
    let mut truncated = zip(&[zipped_skill_md()]);
    truncated.truncate(truncated.len() - 4);
    vec![
        bad("bad-backslash.zip", "archive_path", ZipMember::new("..\\evil.md", "x", FILE)),
        bad("bad-drive.zip", "archive_path", ZipMember::new("C:evil.md", "x", FILE)),
        bad("bad-symlink.zip", "archive_link", ZipMember::new("k", "/etc/passwd", LINK)),
        ArchiveSample {
            name: "bad-truncated.zip",
            bytes: truncated,
            refused: Some("archive_broken"),
        },
    ]
}
