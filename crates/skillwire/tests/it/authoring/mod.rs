//! What authors of skills meet: findings in every form, repairs, silences, comparison, watching.

// Links, sockets and odd file names are made as Linux makes them.
#[cfg(target_os = "linux")]
mod codes;
mod compare;
mod explain;
mod fix;
mod formats;
mod silence;
mod watch;
