//! Directory listings of a skill, for a model.

use std::fmt::Write as _;

use super::{model_text::ModelText, text::one_line};
use crate::window::Child;

/// Lists the direct children of a skill's directory, one per line.
pub fn children(handle: &str, children: &[Child]) -> ModelText {
    let mut text = format!("Files of {}:\n", one_line(handle));
    for child in children {
        let _ = match child {
            Child::Directory(name) => writeln!(text, "- {}/", one_line(name)),
            Child::File(name) => writeln!(text, "- {}", one_line(name)),
        };
    }
    ModelText::of_host(text)
}
