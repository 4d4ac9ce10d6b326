//! The host against servers that are honest, broken and hostile.

mod client;
