//! Tools by which servers hand out skills: what they return has no identity and no digests.

/// The names of tools that hand out skills, those of this project's own servers included.
const NAMES: [&str; 10] = [
    "find_skill",
    "list_repo_skills",
    "list_skills",
    "load_skill",
    "read_skill",
    "read_skill_file",
    "search_skills",
    "skill",
    "skill-resource",
    "use_skill",
];

/// Tells whether a tool hands out skills, by its name. Nothing else about a tool says what it returns.
pub fn hands_out_skills(tool: &str) -> bool {
    NAMES.contains(&tool)
}
