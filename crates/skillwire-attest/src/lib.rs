//! Signs the content of a skill and checks who vouches for it; pure, without keys on disk or a network.
