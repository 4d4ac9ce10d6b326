//! Tests of the public interface, one module per concern.

mod yaml;
mod yaml_limits;
