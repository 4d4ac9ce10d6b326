//! Skills that a server's instructions name by URI. A client shows them to the user; they are no
//! listing.

use skillwire_core::SkillUri;

/// The most skills that are taken from one text.
const MOST: usize = 16;

/// Returns the skills that a text names by their URIs, each once.
pub fn named_skills(instructions: &str) -> Vec<SkillUri> {
    let separates = |c: char| c.is_whitespace() || "`\"'()<>[],".contains(c);
    let mut named = Vec::new();
    for word in instructions.split(separates) {
        let Ok(uri) = SkillUri::parse(word.trim_end_matches(['.', ';', ':', '!', '?'])) else {
            continue;
        };
        if !named.contains(&uri) {
            named.push(uri);
        }
        if named.len() == MOST {
            break;
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_name_skills_by_uri_alone_lad_05() {
        let text = "Read `skill://a/SKILL.md`, then (skill://b/c/SKILL.md); see \
                    skill://a/SKILL.md. Not skill://folk/usage, ../SKILL.md or SKILL.md.";
        let named: Vec<_> = named_skills(text).iter().map(ToString::to_string).collect();
        assert_eq!(named, ["skill://a/SKILL.md", "skill://b/c/SKILL.md"]);
        let many: Vec<_> = (0..100).map(|n| format!("skill://s{n}/SKILL.md")).collect();
        assert_eq!(named_skills(&many.join(" ")).len(), MOST);
    }
}
