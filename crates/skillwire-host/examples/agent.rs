//! An agent that can use skills of a server: `agent URL`. A real one asks a model what to call.
#![expect(clippy::print_stdout, reason = "a program for the command line")]

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::json;
use skillwire_host::{
    Answer, Endpoint, Grants, Host, Prompter, Question, ServerLabel, tools::ModelTools,
};

/// Says yes to every skill and no to everything else; a real agent asks its user.
struct Trusting;

impl Prompter for Trusting {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        let answer = match question {
            Question::Approve(_) => Answer::Yes(Grants::load_only()),
            _ => Answer::No,
        };
        std::future::ready(answer).boxed()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("Name the URL of a server.")?;
    let host = Host::builder().prompter(Trusting).build();
    host.connect(ServerLabel::parse("acme")?, Endpoint::Http { url, headers: Vec::new() }).await?;
    let found = host.discover().await;
    let handle = found.registry.items().first().map(|item| item.handle.clone());
    let tools = ModelTools::new(host);
    println!("{}", serde_json::to_string_pretty(&tools.specs()?)?);
    let call = json!({ "name": handle.ok_or("The server lists no skill.")? });
    println!("{}", tools.call("load_skill", &call).await?);
    Ok(())
}
