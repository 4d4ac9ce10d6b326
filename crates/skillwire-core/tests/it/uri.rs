//! URIs under deterministic mutation: nothing panics, and only what is made here is accepted.

use skillwire_core::{RelPath, ResourceUri, Scheme, SkillPath, SkillUri, percent::decode_path};

/// A small generator of numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).expect("below a small number")
    }
}

const SEEDS: [&str; 6] = [
    "skill://acme/billing/refunds/SKILL.md",
    "skill://pdf/references/a%20b.md",
    "github://owner/repo/skills/x/SKILL.md",
    "skill://caf%C3%A9/%25/x/SKILL.md",
    "skill://a/.../~!$&'()*+,;=:@/SKILL.md",
    "acme-skills://x-1/SKILL.md",
];

const PIECES: [&str; 18] = [
    "%", "%2F", "%2e%2e", "..", "/", "//", "\\", "?", "#", "@", ":", "%00", "%C0%AE", " ",
    "\u{e9}", "SKILL.md", "skill://", "A",
];

fn mutate(text: &str, numbers: &mut Numbers) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=numbers.next(4) {
        let at = numbers.next(chars.len() + 1);
        match numbers.next(3) {
            0 if at < chars.len() => {
                chars.remove(at);
            }
            1 if at < chars.len() => {
                let middle = chars.len() / 2;
                chars.swap(at, middle);
            }
            _ => {
                let piece = PIECES[numbers.next(PIECES.len())];
                chars.splice(at..at, piece.chars());
            }
        }
    }
    chars.into_iter().collect()
}

#[test]
fn mutated_uris_never_panic_and_are_accepted_only_as_they_are_v_02() {
    let mut numbers = Numbers(0x5eed);
    let mut accepted = 0;
    for round in 0..60_000 {
        let text = mutate(SEEDS[round % SEEDS.len()], &mut numbers);
        if let Ok(uri) = ResourceUri::parse(&text) {
            assert_eq!(uri.as_str(), text);
            accepted += 1;
        }
        if let Ok(skill) = SkillUri::parse(&text) {
            assert_eq!(skill.as_str(), text);
            assert_eq!(skill.root().child(&RelPath::skill_file()), *skill.file());
        }
        let rest = text.split_once("://").map_or(text.as_str(), |(_, rest)| rest);
        if let Some(path) = decode_path(rest).and_then(|path| RelPath::parse(&path).ok()) {
            let root = SkillUri::new(&Scheme::default(), &SkillPath::parse("x").expect("a path"));
            assert_eq!(root.root().child(&path).as_str(), format!("skill://x/{rest}"));
        }
    }
    assert!(accepted > 1_000, "the mutations must leave something to accept: {accepted}");
}
