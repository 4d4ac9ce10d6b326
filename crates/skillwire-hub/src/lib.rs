//! The rules of a hub: namespaces, versions, channels, states and who may do what; pure.
