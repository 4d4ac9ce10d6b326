//! Tests of the public interface, one module per concern.

mod format;
mod uri;
mod yaml;
mod yaml_limits;
