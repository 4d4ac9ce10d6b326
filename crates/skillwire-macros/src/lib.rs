//! Skills compiled into a program, checked while it is compiled.
//!
//! Use it as `skillwire_server::embed_skills!`, with the feature `macros` of that crate, or of
//! `skillwire-rmcp`. This crate never knows a server: it reads a folder and writes the expression
//! that holds its skills.
//!
//! ```
//! use skillwire_server::{EmbeddedSkill, embed_skills};
//!
//! const SKILLS: &[EmbeddedSkill] = embed_skills!("../skillwire-server/examples/skills");
//! assert!(SKILLS.iter().all(|skill| skill.files.iter().any(|(path, _)| *path == "SKILL.md")));
//! ```

mod folder;

use std::path::PathBuf;

use proc_macro::{TokenStream, TokenTree};

/// Writes the skills of a folder as an expression, for `skillwire_server::embed_skills!`, which has
/// the documentation and brings the type that the expression names into scope.
#[proc_macro]
pub fn embed_skills(input: TokenStream) -> TokenStream {
    let code = folder_name(input).and_then(|name| folder::embed(&crate_root()?.join(name)));
    let code = code.unwrap_or_else(|error| format!("::core::compile_error!({error:?})"));
    code.parse().unwrap_or_default()
}

/// The one string literal that the macro takes.
fn folder_name(input: TokenStream) -> Result<String, String> {
    let usage = || "Write the folder as a string, as in `embed_skills!(\"skills\")`.".to_owned();
    let mut tokens = input.into_iter();
    let (Some(TokenTree::Literal(literal)), None) = (tokens.next(), tokens.next()) else {
        return Err(usage());
    };
    let text = literal.to_string();
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    // A folder's name needs no escapes, so there is nothing to be read of them.
    inner.filter(|name| !name.contains('\\')).map(str::to_owned).ok_or_else(usage)
}

#[expect(clippy::disallowed_methods, reason = "Cargo tells a macro its caller's folder this way")]
fn crate_root() -> Result<PathBuf, String> {
    std::env::var("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .map_err(|_| "The crate's folder is unknown; build with Cargo.".to_owned())
}
