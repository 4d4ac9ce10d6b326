//! Typical mistakes of authors: two of three skills have one flaw, each kind in turn.

use super::Skill;

/// A cycle this long goes through every flaw, and through half as many skills without one.
const CYCLE: usize = 18;

/// Puts a flaw into the `SKILL.md` of a skill, or leaves it as it is.
pub(super) fn spoil(skill: &mut Skill, at: usize) {
    let Some((_, text)) = skill.files.first_mut() else { return };
    *text = match at % CYCLE {
        0 => text.replacen("Use when ", "Use when: ", 1),
        1 => text.replacen("license:", "version: 1.0\nlicense:", 1),
        2 => text.replacen("license: Apache-2.0", "license: no", 1),
        3 => text.replace('\n', "\r\n"),
        4 => text.replacen("license:", "allowed-tools: [Read, Grep]\nlicense:", 1),
        5 => format!("{text}\nSee [more](references/gone.md).\n"),
        6 => format!("{text}\nSee [the rest](../../shared/rest.md).\n"),
        7 => text.replacen("name: ", "name: My_", 1),
        8 => text.replacen("Use when ", "About ", 1),
        9 => format!("{text}{}", "- One more step.\n".repeat(600)),
        10 => text.replacen("license: Apache-2.0\n", "license: Apache-2.0  \n", 1),
        11 => format!("\u{feff}{text}"),
        _ => return,
    };
}
