//! Tests of the public interface, one module per concern.

mod codes;
mod content_id;
mod files;
mod format;
mod reference;
mod repair;
mod uri;
mod yaml;
mod yaml_limits;
