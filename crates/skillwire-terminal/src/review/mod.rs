//! The full-screen view of everything that waits for a decision of the user.
//!
//! | part | what it does |
//! |---|---|
//! | [`ReviewModel`] | the state: skills, what is looked at, what is asked |
//! | [`ReviewModel::update`] | takes a [`Message`], changes the state, and returns [`Effect`]s |
//! | [`draw`] | writes the state into a buffer of cells |
//!
//! The view reads nothing ahead: a file that was not read says so, with the key that reads it.

mod confirm;
mod draw;
mod keys;
mod layout;
mod model;
mod skill;
#[cfg(test)]
mod tests;

pub use self::{
    confirm::{Confirmation, Decision},
    draw::{Palette, draw},
    model::{Effect, Message, Pane, ReviewModel, Tab},
    skill::{FileRow, FileText, SkillNumber, WaitingKind, WaitingSkill},
};
