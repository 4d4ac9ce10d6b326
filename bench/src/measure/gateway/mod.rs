//! A hub with upstreams and policies: what it adds to a request, what it holds in memory, what upstreams that
//! misbehave do to the others, and what classes of callers cost.

mod adding;
mod classes;
mod memory;
mod pinned;
mod place;
mod trouble;

use super::Bench;
use crate::broken::Result;

pub(super) async fn measure(bench: &mut Bench) -> Result<()> {
    pinned::measure(bench).await?;
    adding::measure(bench).await?;
    memory::measure(bench).await?;
    trouble::measure(bench).await?;
    classes::measure(bench).await
}
