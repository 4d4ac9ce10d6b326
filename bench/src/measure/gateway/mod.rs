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
    // One that cannot be measured keeps none of the others from it.
    let measured = [
        ("Pinned skills", pinned::measure(bench).await),
        ("What a hub adds", adding::measure(bench).await),
        ("The memory of a hub with upstreams", memory::measure(bench).await),
        ("Upstreams that misbehave", trouble::measure(bench).await),
        ("Classes of callers", classes::measure(bench).await),
    ];
    for (what, result) in measured {
        if let Err(broken) = result {
            bench.report.broken.push(format!("**{what} could not be measured:** {broken}"));
        }
    }
    Ok(())
}
