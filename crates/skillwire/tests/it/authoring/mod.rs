//! What authors of skills meet: findings in every form, repairs, silences, comparison, watching.

mod codes;
mod compare;
mod explain;
mod fix;
mod formats;
mod silence;
mod watch;
