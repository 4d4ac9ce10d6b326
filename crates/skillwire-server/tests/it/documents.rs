//! The embedding guide shows the examples as they are.

use std::{fs, path::Path};

/// The most lines of an example, so that it can be read in one go.
const MAX_LINES: usize = 60;

#[test]
fn the_guide_shows_every_example_as_it_is_compiled() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(here.join("../../docs/embedding.md")).expect("the guide");
    let mut shown = 0;
    let examples = ["skillwire-server", "skillwire-rmcp"].iter().flat_map(|of| {
        let folder = fs::read_dir(here.join("..").join(of).join("examples"));
        folder.expect("the examples").map(move |found| (of, found))
    });
    for (of, found) in examples {
        let path = found.expect("an example").path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let code = fs::read_to_string(&path).expect("an example is text");
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        assert!(code.lines().count() <= MAX_LINES, "{name} is too long");
        assert!(guide.contains(&format!("```rust\n{code}```\n")), "{name} differs in the guide");
        assert!(guide.contains(&format!("(../crates/{of}/examples/{name})")), "{name}");
        shown += 1;
    }
    assert_eq!(shown, 5);
}
