//! Millions of skills of a git host: none is listed, each is fetched when a client asks for it.

#![expect(clippy::print_stderr, reason = "a person starts it and wants to know where it listens")]

use skillwire_server::{
    BoxFuture, FetchSkill, FetchedFiles, OnDemandSource, RelPath, SkillPath, Skills,
    SourceUnavailable, UriTemplate,
};
use tokio::net::TcpListener;

/// A made-up host: each of a million owners has a repository `skills` with skills of any name.
#[derive(Debug)]
pub(crate) struct GitHost;

impl FetchSkill for GitHost {
    fn fetch(
        &self,
        path: &SkillPath,
    ) -> BoxFuture<Result<Option<FetchedFiles>, SourceUnavailable>> {
        let path = path.clone();
        // A real host would be asked over HTTP here.
        Box::pin(async move {
            let segments: Vec<&str> = path.segments().collect();
            Ok(match segments.as_slice() {
                ["git", owner, "skills", name] if is_owner(owner) => Some(skill(owner, name)),
                _ => None,
            })
        })
    }

    fn templates(&self) -> Vec<UriTemplate> {
        let template = UriTemplate::parse("skill://git/{owner}/skills/{skill}/SKILL.md");
        template.map(|it| it.description("A skill of a repository.")).into_iter().collect()
    }
}

fn is_owner(name: &str) -> bool {
    let number = name.strip_prefix("owner-").and_then(|number| number.parse::<u32>().ok());
    number.is_some_and(|number| number < 1_000_000)
}

fn skill(owner: &str, name: &str) -> FetchedFiles {
    let text = format!(
        "---\nname: {name}\ndescription: Works as {owner} does. Use when {owner} asks.\n---\n\n\
         Read [the guide](guide.md).\n"
    );
    let guide = RelPath::parse("guide.md").map(|it| (it, format!("# Guide of {owner}\n").into()));
    [(RelPath::skill_file(), text.into())].into_iter().chain(guide).collect()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let skills = Skills::builder().source(OnDemandSource::new("git", 3, GitHost)).build()?;
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8644".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    skills.serve_http(listener, std::future::pending()).await;
    Ok(())
}
