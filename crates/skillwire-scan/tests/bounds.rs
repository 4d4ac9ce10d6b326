//! No text makes a scan slow, and none makes it fail.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use skillwire_scan::{RuleSet, SkillFiles, scan};

/// How many bytes each text has. Unoptimised code gets shorter ones.
const BYTES: usize = if cfg!(debug_assertions) { 10_000 } else { 100_000 };

/// How long a scan may take: 100 ms for 100 kB. Unoptimised code is some thirty times slower; quadratic
/// work would still take longer.
const LONGEST: Duration = Duration::from_millis(if cfg!(debug_assertions) { 3_000 } else { 100 });

/// Texts that make parsers, decoders and patterns work hard.
const HARD: &[&str] = &[
    "a",
    "A",
    "\n",
    " ",
    "(",
    ")",
    "[",
    "]",
    "![",
    "[](",
    "`",
    "```\n",
    "*",
    "_",
    "**a",
    "<",
    "<!--",
    "<a ",
    "&#65;",
    "&",
    "|",
    "| a ",
    "> ",
    "- ",
    "1. ",
    "#",
    "\\",
    "\\\n",
    "\\x41",
    "\\u0041",
    "%41",
    "$(",
    "${",
    "$a",
    "\"",
    "'",
    "'a'+",
    "{",
    "}",
    ":",
    "curl ",
    "curl http://",
    "http://",
    "https://a.b/",
    "base64 -d |",
    "eval(",
    "exec(",
    "chr(65)+",
    "extract with password ",
    "QUFB",
    "41",
    "/dev/tcp/",
    "~/.ssh/",
    "env |",
    "cat .env ",
    "a=b;",
    "\u{200b}",
    "\u{e0041}",
    "é",
    "if ",
    "def f(",
    "=>",
    "\"\"\"",
    "@'",
    "pip install a ",
    "<system>",
    "send ",
    "while True:\n",
    "while True:\n a()\n",
    "def f(a):\n eval(a)\n",
    "def f(a):\n b=a\n",
    "os.path.join(a, b)\n",
    "for(;;)",
    "retry forever until ",
    "read ~/.ssh ",
    "http://\u{430}.b ",
    "curl a.b ",
    "`curl a.b",
    "a=http://\u{430};curl $a;",
    "chmod +x /tmp/a;",
    "unzip -P a b;",
    "password: abc ",
    "npx -y ",
    "npx -y a b c d ",
    "case x in a b c d e f ",
    "for a b c d e ",
    "${a b c d} ",
    "function a b c d ",
    "7z x -pa b;",
    "\"CLAUDE.md\" ",
    "\0",
];

fn longest_scan(path: &str, text: &str) -> Duration {
    let skill = SkillFiles::new().with(path.to_owned(), text.to_owned());
    // The shortest of three: other work on the machine does not count.
    let times = (0..3).map(|_| {
        let start = Instant::now();
        scan(&skill, RuleSet::built_in());
        start.elapsed()
    });
    times.min().unwrap_or_default()
}

#[test]
fn no_repeated_text_takes_long_in_any_kind_of_file() {
    scan(&SkillFiles::new().with("SKILL.md", "warm up"), RuleSet::built_in());
    let mut slow = Vec::new();
    for path in ["SKILL.md", "a.sh", "a.py", "a.js", "a.ts", "a.ps1", "a.json"] {
        for hard in HARD {
            let text = hard.repeat(BYTES / hard.len() + 1);
            let took = longest_scan(path, &text[..hard.len() * (BYTES / hard.len())]);
            if took > LONGEST {
                slow.push(format!("{path}: {hard:?} took {took:?}"));
            }
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

/// As many cases as `PROPTEST_CASES` asks for; fewer than usual if it asks for nothing.
fn cases() -> ProptestConfig {
    let asked = ProptestConfig::default();
    if asked.cases == 256 { ProptestConfig::with_cases(48) } else { asked }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn no_bytes_make_a_scan_fail(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        for path in ["SKILL.md", "a.sh", "a.py", "a.ts", "a.ps1", "a.png", "a.json", "a"] {
            scan(&SkillFiles::new().with(path, bytes.clone()), RuleSet::built_in());
        }
    }

    #[test]
    fn no_mixture_of_hard_texts_makes_a_scan_fail(parts in proptest::collection::vec(0..HARD.len(), 0..120)) {
        let text: Vec<_> = parts.iter().map(|index| HARD[*index]).collect();
        let text = text.concat();
        for path in ["SKILL.md", "a.sh", "a.py", "a.js", "a.ps1"] {
            let report = scan(&SkillFiles::new().with(path, text.clone()), RuleSet::built_in());
            for finding in &report.findings {
                prop_assert!(!finding.evidence.is_empty());
            }
        }
    }

    #[test]
    fn no_image_makes_a_scan_fail(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        for magic in [&b"\x89PNG\r\n\x1a\n"[..], b"\xff\xd8\xff\xfe", b"PK\x03\x04"] {
            let image = [magic, &bytes].concat();
            scan(&SkillFiles::new().with("a.png", image), RuleSet::built_in());
        }
    }
}
