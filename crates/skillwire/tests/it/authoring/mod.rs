//! Commands for authors of skills: findings in every format, repairs, silencing, comparison,
//! watching.

// The tests make links, sockets and odd file names in the way of Linux.
#[cfg(target_os = "linux")]
mod codes;
mod compare;
mod explain;
mod fix;
mod formats;
#[cfg(all(unix, feature = "editor", feature = "review"))]
mod pictures;
mod selection;
mod silence;
mod watch;
