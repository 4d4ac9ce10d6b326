//! A report that is made anew each time it is read, in a web server with pages of its own.

#![expect(clippy::print_stderr, reason = "a person starts it and wants to know where it listens")]

use std::time::{SystemTime, UNIX_EPOCH};

use axum::{Router, routing::get, serve::ListenerExt};
use skillwire_server::{GeneratedFiles, Skills, http::HttpOptions};
use tokio::net::TcpListener;

fn instructions() -> String {
    let today = day();
    format!(
        "---\nname: daily\ndescription: The numbers of day {today} and what to do about them. \
         Use when asked how the shop is doing.\n---\n\n\
         # Day {today}\n\nRead [the orders](data/orders.csv), name the largest change first.\n"
    )
}

fn orders() -> Result<String, std::time::SystemTimeError> {
    let minutes = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / 60 % 1440;
    Ok(format!("day,orders\n{},{minutes}\n", day()))
}

/// Days since 1970, which stands in for a date.
fn day() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs() / 86_400)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let report =
        GeneratedFiles::new().file("SKILL.md", instructions).try_file("data/orders.csv", orders);
    let skills = Skills::builder().dynamic("reports/daily", report).build()?;
    let shop = Router::new()
        .route("/", get(|| async { "The shop is open.\n" }))
        .merge(skills.router(HttpOptions::default()));
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8642".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    // Small answers must not wait for more to send with them.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, shop).await?;
    Ok(())
}
