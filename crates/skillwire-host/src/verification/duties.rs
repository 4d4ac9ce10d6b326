//! How a server answers requests for things that do not exist, and whether its instructions are
//! right.

use serde_json::Map;
use skillwire_protocol::{Era, ErrorCode, method};
use skillwire_trust::{Reason, Refusal};

use super::{Demand, Finding, Server};
use skillwire_dialects::named_skills;

use skillwire_remote::Listing;

/// A skill that does not exist on any server.
const NOT_THERE: &str = "skill://skillwire-verify/no-such-skill/SKILL.md";

pub(super) async fn check(server: &Server, listing: &Listing) -> Vec<Finding> {
    let mut findings = Vec::new();
    let uri = || Map::from_iter([("uri".to_owned(), NOT_THERE.into())]);
    let cursor = Map::from_iter([("cursor".to_owned(), "skillwire-verify-forged".into())]);
    let absent = "error -32602 for something that is not there";
    let forged = "error -32602 for a cursor it never gave";
    for (demand, method, params, expected) in [
        (Demand::Must, method::SKILLS_GET, uri(), absent),
        (Demand::Must, method::RESOURCES_READ, uri(), absent),
        (Demand::Should, method::SKILLS_LIST, cursor, forged),
    ] {
        let refusal = wrong_code(server, method, params).await;
        let refusal = refusal.map(|refusal| refusal.expected(expected));
        findings.extend(refusal.map(|refusal| Finding { demand, refusal }));
    }
    findings.extend(dangling_instructions(server, listing).await);
    findings
}

/// Checks that a server answers a request for something missing with the right error code.
async fn wrong_code(
    server: &Server,
    method: &str,
    params: Map<String, serde_json::Value>,
) -> Option<Refusal> {
    let client = server.client().await.ok()?;
    let modern = client.server().era == Era::Modern;
    let answer = client.request(method, params, server.limits()).await;
    let actual = match answer {
        Err(error) => match error.code() {
            Some(ErrorCode::InvalidParams) => return None,
            Some(ErrorCode::LegacyResourceNotFound) if !modern => return None,
            _ => error.to_string(),
        },
        Ok(_) => "a result".to_owned(),
    };
    Some(Refusal::new(Reason::WrongErrorCode).about(server.origin()).file(method).actual(actual))
}

/// Checks that every skill in the server's instructions exists.
async fn dangling_instructions(server: &Server, listing: &Listing) -> Vec<Finding> {
    let Ok(client) = server.client().await else { return Vec::new() };
    let description = client.server();
    let text = description.instructions.as_deref().unwrap_or_default();
    let mut findings = Vec::new();
    for uri in named_skills(text) {
        let listed = listing.skills.iter().any(|listed| listed.id().uri == uri);
        if !listed && server.get(&uri, skillwire_trust::EntrySource::Named).await.is_err() {
            findings.push(Finding::should(
                Refusal::new(Reason::InstructionsDangling).about(server.origin()).actual(uri),
            ));
        }
    }
    findings
}
