//! Skills compiled into a program, checked while it is compiled.
//!
//! Use it as `skillwire_server::embed_skills!`, with the feature `macros`.

mod folder;

use std::path::PathBuf;

use proc_macro::{TokenStream, TokenTree};

/// Makes the skills of a folder a part of the program.
///
/// The folder is given relative to the crate's `Cargo.toml`. The result is a
/// `&'static [EmbeddedSkill]`, for `Skills::builder().embedded(...)`. The folder is read and judged as
/// a server would: a skill that could not be served is a compile error that says what is wrong, and
/// files that are not part of a skill stay out of the program.
///
/// A file that changes is noticed by the compiler. A file that is new is noticed once something else
/// changes; a build script that prints `cargo::rerun-if-changed=skills` makes it notice at once.
///
/// ```
/// use skillwire_server::{EmbeddedSkill, Skills, embed_skills};
///
/// const SKILLS: &[EmbeddedSkill] = embed_skills!("../skillwire-server/examples/skills");
/// let skills = Skills::builder().embedded(SKILLS).build()?;
/// assert_eq!(skills.count(), SKILLS.len());
/// # Ok::<(), skillwire_server::BuildError>(())
/// ```
///
/// A folder without skills does not compile:
///
/// ```compile_fail
/// skillwire_server::embed_skills!("src");
/// ```
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
