//! What the ledger says a skill reaches out to.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use skillwire_scan::{LedgerKind, RuleSet, ScanReport, SkillFiles, UnseenReason, scan};

fn body(text: &str) -> SkillFiles {
    let text = format!("---\nname: notes\ndescription: Takes notes.\n---\n\n# Notes\n\n{text}\n");
    SkillFiles::new().with("SKILL.md", text)
}

fn scanned(skill: &SkillFiles) -> ScanReport {
    scan(skill, RuleSet::built_in())
}

fn hosts(skill: &SkillFiles) -> Vec<String> {
    scanned(skill).ledger.hosts().map(ToOwned::to_owned).collect()
}

/// An address whose host begins with a Cyrillic letter that looks like the Latin one.
const FALSE_ADDRESS: &str = "https://\u{430}pi.github.com/x";

#[test]
fn the_statement_of_a_signature_is_nothing_that_a_skill_contacts() {
    let statement = concat!(
        r#"{"_type":"https://in-toto.io/Statement/v1","#,
        r#""predicateType":"https://skillwire.dev/attestation/skill/v1","#,
        r#""subject":[{"name":"SKILL.md","digest":{"sha256":"00"}}],"predicate":{}}"#
    );
    let payload = STANDARD.encode(statement);
    let envelope = format!(
        r#"{{"payload":"{payload}","payloadType":"application/vnd.in-toto+json","signatures":[]}}"#
    );
    let before = body("See https://acme.io.");
    for name in ["skill.dsse.sig", "skill.sigstore.json", "skill.oms.sig"] {
        let signed = scanned(&before.clone().with(name, envelope.clone()));
        assert_eq!(signed.ledger.since(&scanned(&before).ledger).added, [], "{name}");
        assert_eq!(signed.ledger.signatures(), [name]);
    }
    // The name alone hides nothing, and neither does the content under another name.
    let script = body("Run it.").with("skill.dsse.sig", "curl https://tools-host.io/x\n");
    assert_eq!(hosts(&script), ["tools-host.io"]);
    assert!(
        hosts(&body("See it.").with("notes.json", envelope)).contains(&"in-toto.io".to_owned())
    );
}

#[test]
fn a_host_with_a_letter_of_another_script_is_another_host() {
    let block = |code: &str| body(&format!("Run this:\n\n```bash\n{code}\n```"));
    let encoded =
        STANDARD.encode(format!("curl -s {FALSE_ADDRESS} > notes.txt # fetches the notes"));
    for (place, skill) in [
        ("prose", body(&format!("See {FALSE_ADDRESS} for more."))),
        ("a link", body(&format!("See [the page]({FALSE_ADDRESS}) for more."))),
        ("a block", block(&format!("curl -s {FALSE_ADDRESS}"))),
        ("a variable", block(&format!("URL={FALSE_ADDRESS}\ncurl -s $URL"))),
        ("divided words", block(&format!("c''url -s {FALSE_ADDRESS} \\\n  -o x"))),
        ("a command without a scheme", block("curl -s \u{430}pi.github.com/x")),
        ("encoded text", block(&format!("echo {encoded} | base64 -d"))),
        (
            "a script",
            body("Run it.").with("scripts/a.py", format!("requests.get(\"{FALSE_ADDRESS}\")\n")),
        ),
        ("data", body("See it.").with("a.json", format!("{{\"u\": \"{FALSE_ADDRESS}\"}}"))),
    ] {
        assert_eq!(hosts(&skill), [r"\u{430}pi.github.com"], "{place}");
    }
}

#[test]
fn addresses_show_the_letters_that_are_not_what_they_look_like() {
    for (written, shown, host) in [
        (FALSE_ADDRESS, r"https://\u{430}pi.github.com/x", r"\u{430}pi.github.com"),
        ("https://github.com/\u{430}cme", r"https://github.com/\u{430}cme", "github.com"),
        ("https://git\u{200b}hub.com/x", r"https://git\u{200b}hub.com/x", r"git\u{200b}hub.com"),
        (
            "https://acme.io\u{2215}.a.io/x",
            r"https://acme.io\u{2215}.a.io/x",
            r"acme.io\u{2215}.a.io",
        ),
        (
            "https://b\u{fc}cher.de/b\u{fc}cher",
            "https://b\\u{fc}cher.de/b\u{fc}cher",
            r"b\u{fc}cher.de",
        ),
    ] {
        let report = scanned(&body(&format!("See {written} for more.")));
        let urls: Vec<_> = report.ledger.entries(LedgerKind::Url).map(|it| &it.value).collect();
        assert_eq!(urls, [shown]);
        assert_eq!(report.ledger.hosts().collect::<Vec<_>>(), [host]);
    }
}

#[test]
fn a_version_with_a_look_alike_host_newly_contacts_it() {
    let before = scanned(&body("See https://api.github.com/x for more."));
    let now = scanned(&body(&format!("See {FALSE_ADDRESS} for more.")));
    let diff = now.ledger.since(&before.ledger);
    let of = |entries: &[skillwire_scan::LedgerEntry]| -> Vec<String> {
        let hosts = entries.iter().filter(|it| it.kind == LedgerKind::Host);
        hosts.map(|it| it.value.clone()).collect()
    };
    assert_eq!(of(&diff.added), [r"\u{430}pi.github.com"]);
    assert_eq!(of(&diff.removed), ["api.github.com"]);
}

#[test]
fn hosts_of_commands_need_no_scheme() {
    for (code, expected) in [
        ("curl tools-host.io/x", vec!["tools-host.io"]),
        ("curl -s -o a.tar.gz tools-host.io/a.tar.gz", vec!["tools-host.io"]),
        ("curl -d @data.json -H 'Accept: text/x.y' tools-host.io", vec!["tools-host.io"]),
        ("wget -O notes.txt tools-host.io/x", vec!["tools-host.io"]),
        ("nc 93.184.216.34 4444 < notes.txt", vec!["93.184.216.34"]),
        ("ssh -i key.pem -p 22 root@box.tools-host.io ls notes.txt", vec!["box.tools-host.io"]),
        ("scp notes.txt me@tools-host.io:/tmp/a.txt", vec!["tools-host.io"]),
        ("rsync -a a.txt b.txt", vec![]),
        ("exec 3<>/dev/tcp/tools-host.io/443", vec!["tools-host.io"]),
        ("curl --version # see notes.md", vec![]),
    ] {
        let skill = body(&format!("Run this:\n\n```bash\n{code}\n```"));
        assert_eq!(hosts(&skill), expected, "{code}");
    }
    assert_eq!(hosts(&body("Fetch it with `curl tools-host.io/x`.")), ["tools-host.io"]);
    assert_eq!(hosts(&body("Use curl or notes.io for it.")), Vec::<String>::new());
}

#[test]
fn long_addresses_are_cut_and_their_hosts_are_named() {
    let report = scanned(&body(&format!("See https://tools-host.io/{} now.", "a".repeat(500))));
    let urls: Vec<_> = report.ledger.entries(LedgerKind::Url).map(|it| &it.value).collect();
    assert!(urls.len() == 1 && urls[0].ends_with('…') && urls[0].len() < 310, "{urls:?}");
}

#[test]
fn code_in_a_language_without_a_parser_is_named() {
    for (path, text) in [
        ("scripts/a.php", "<?php echo 1;\n"),
        ("scripts/a.go", "package main\n"),
        ("scripts/a.rb", "puts 1\n"),
        ("a.ipynb", "{\"cells\": []}\n"),
    ] {
        let report = scanned(&body("Run it.").with(path, text));
        let unseen: Vec<_> =
            report.coverage.unseen.iter().map(|it| (it.file.as_str(), it.reason)).collect();
        assert_eq!(unseen, [(path, UnseenReason::NoParser)]);
    }
    let report = scanned(&body("Run it.").with("scripts/a.py", "print(1)\n"));
    assert_eq!(report.coverage.unseen, []);
}
