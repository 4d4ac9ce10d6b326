//! The components: view models in, HTML out. All of it is readable without a script.

mod catalogue;
mod connect;
mod diff;
mod evidence;
mod file;
mod layout;
mod parts;
mod review;
mod skill;
mod table;

pub(crate) use self::{
    catalogue::{catalogue, results},
    connect::connect,
    diff::{DiffLayout, diff},
    file::{file, first_line_of_page},
    layout::{Frame, bare, document, problem},
    review::{batch, queue, review},
    skill::{SkillTab, skill},
    table::table,
};
