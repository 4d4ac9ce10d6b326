//! The guide shows the example unchanged.

use std::{fs, path::Path};

/// The most lines that fit on one screen.
const MAX_LINES: usize = 42;

#[test]
fn the_guide_shows_the_agent_as_it_is_compiled() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(here.join("../../docs/host.md")).unwrap();
    let code = fs::read_to_string(here.join("examples/agent.rs")).unwrap();
    assert!(code.lines().count() <= MAX_LINES, "it is too long");
    assert!(guide.contains(&format!("```rust\n{code}```\n")), "it differs in the guide");
}
