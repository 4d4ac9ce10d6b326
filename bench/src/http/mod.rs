//! HTTP/1.1 over loopback: a client that costs little, the load it makes, and bare servers to
//! compare with.

pub(crate) mod bare;
pub(crate) mod client;
pub(crate) mod load;
pub(crate) mod paced;
