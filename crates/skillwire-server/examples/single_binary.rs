//! A folder of skills in a single binary, which needs no folder any more.

#![expect(clippy::print_stderr, reason = "a person starts it and wants to know where it listens")]

use skillwire_server::{Skills, embed_skills};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let skills = Skills::builder()
        .name("field-guide", env!("CARGO_PKG_VERSION"))
        .embedded(embed_skills!("../../examples/skills"))
        .on_notice(|notice| eprintln!("{notice}"))
        .build()?;
    match std::env::args().nth(1) {
        None => skills.serve_stdio().await?,
        Some(address) => {
            let listener = TcpListener::bind(address).await?;
            eprintln!("listening on http://{}/mcp", listener.local_addr()?);
            skills.serve_http(listener, std::future::pending()).await;
        }
    }
    Ok(())
}
