//! Tools and prompts that a program offers beside its skills.

mod asking;
mod lists;
mod telling;

use std::sync::{Arc, Mutex};

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::{Value, json};
use skillwire_server::{
    Caller,
    offer::{
        Elicited, Form, Interrupt, Invocation, Items, ListChanges, Offer, Offers, PromptReply,
        ToolReply, Typing,
    },
};
use skillwire_testkit::{HttpConnection, LEGACY_HEADERS, SkillFolder, TestOptions, TestServer};
use tokio::sync::{Notify, watch};

/// An offer with one tool for each thing a tool can do.
#[derive(Default)]
pub(crate) struct Sample {
    /// What `ship` would ship; the form names it.
    pub(crate) cargo: Mutex<String>,
    /// The number of running calls of `wait`.
    pub(crate) waiting: watch::Sender<usize>,
    /// Lets one call of `wait` return.
    pub(crate) enough: Arc<Notify>,
    /// Sessions that have ended.
    pub(crate) ended: Mutex<Vec<String>>,
}

/// Counts a call until it is dropped.
struct Waiting(watch::Sender<usize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl Offer for Sample {
    fn instructions(&self, _caller: &Caller) -> Option<String> {
        Some("Ship with care.".to_owned())
    }

    fn tools(&self, _caller: &Caller) -> Arc<Items> {
        let tool = |name| json!({ "name": name, "inputSchema": { "type": "object" } });
        Items::of(["wait", "ship", "count", "break"].map(tool))
    }

    fn prompts(&self, _caller: &Caller) -> Arc<Items> {
        Items::of((0..250).map(|n| json!({ "name": format!("greet-{n:03}") })))
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'static, Result<ToolReply, Interrupt>> {
        let Invocation { name, arguments, client } = invocation;
        match name.as_str() {
            "ship" => {
                let cargo = self.cargo.lock().expect("nobody panicked").clone();
                async move {
                    let fields = json!({ "fast": { "type": "boolean" } });
                    let form = Form::new(format!("Ship {cargo}?"), &fields, &["fast"]);
                    let first = client.ask("ship", &form).await?;
                    let Elicited::Accepted(content) = first else {
                        return Ok(ToolReply::error(format!("{first:?}")));
                    };
                    if content.get("fast") != Some(&Value::Bool(true)) {
                        return Ok(ToolReply::text(format!("Shipped {cargo} to {arguments:?}.")));
                    }
                    let sure = Form::new("Really fast?", &json!({}), &[]);
                    let second = client.ask("sure", &sure).await?;
                    Ok(ToolReply::text(format!("Fast: {second:?}")))
                }
                .boxed()
            }
            "count" => async move {
                for step in [1, 2, 2, 3] {
                    client.progress().tell(step, Some(3), "Counting.");
                    tokio::task::yield_now().await;
                }
                Ok(ToolReply::text("3").structured(json!({ "count": 3 })))
            }
            .boxed(),
            "wait" => {
                self.waiting.send_modify(|count| *count += 1);
                let (waiting, enough) = (Waiting(self.waiting.clone()), Arc::clone(&self.enough));
                async move {
                    let _waiting = waiting;
                    enough.notified().await;
                    Ok(ToolReply::text("Waited."))
                }
                .boxed()
            }
            _ => std::panic::resume_unwind(Box::new("secret")),
        }
    }

    fn prompt(&self, invocation: Invocation) -> BoxFuture<'static, Result<PromptReply, Interrupt>> {
        async move {
            let form = Form::new("Greet?", &json!({}), &[]);
            let answer = invocation.client.ask("greet", &form).await?;
            let content = json!({ "type": "text", "text": format!("Hello: {answer:?}") });
            let message = json!({ "role": "user", "content": content });
            let description = Some("A greeting.".to_owned());
            Ok(PromptReply { description, messages: vec![message], ..PromptReply::default() })
        }
        .boxed()
    }

    fn complete(&self, _caller: &Caller, typing: &Typing<'_>) -> Vec<String> {
        (0..150).map(|n| format!("{}{n}", typing.typed)).collect()
    }

    fn session_ended(&self, session: &str) {
        self.ended.lock().expect("nobody panicked").push(session.to_owned());
    }
}

/// A server that offers the sample.
pub(crate) async fn server() -> (Arc<Sample>, ListChanges, TestServer) {
    let (sample, changes) = (Arc::new(Sample::default()), ListChanges::default());
    "apples".clone_into(&mut sample.cargo.lock().expect("nobody panicked"));
    let all: Vec<Arc<dyn Offer>> = vec![Arc::<Sample>::clone(&sample)];
    let offers = Offers::joined(all, changes.clone()).expect("names are unique");
    let folder = SkillFolder::with_skills(&["a"]);
    let server =
        TestServer::with(folder.path(), TestOptions { offers, ..Default::default() }).await;
    (sample, changes, server)
}

/// Sends a request within a legacy session and returns the connection.
pub(crate) async fn within(server: &TestServer, session: &str, message: &Value) -> HttpConnection {
    let mut headers = LEGACY_HEADERS.to_vec();
    headers.extend([("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")]);
    let mut connection = server.connect().await;
    connection.send("POST", "/mcp", &headers, message.to_string().as_bytes()).await;
    connection
}
