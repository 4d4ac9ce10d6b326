//! The committed description of the API is the one that the code makes.

use std::path::Path;

#[test]
fn the_committed_document_is_the_one_that_the_code_makes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hub-openapi.json");
    let made = skillwire_hub_server::api::openapi_document();
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    if made != committed {
        let new = path.with_extension("json.new");
        std::fs::write(&new, &made).expect("the new document can be written");
        panic!(
            "`docs/hub-openapi.json` is out of date; replace it with `docs/hub-openapi.json.new`"
        );
    }
}
