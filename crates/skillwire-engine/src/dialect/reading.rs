//! `resources/read` for URIs that a dialect adds.

use bytes::Bytes;
use skillwire_dialects as dialects;
use skillwire_protocol::RpcError;

use super::{
    alias::{AliasTarget, resolve},
    archives,
    documents::{DialectDocument, DocumentKey},
    fastmcp, index, skilljack, skills_over_mcp,
};
use crate::engine::{Outcome, OwnedCall, contents::render, reading};

/// Reads what a URI stands for, or fails with `missing`.
pub(crate) async fn read(call: OwnedCall, uri: String, missing: RpcError) -> Outcome {
    let Some(projected) = resolve(&call, &uri).await? else { return Err(missing) };
    match projected {
        AliasTarget::Index => {
            let made =
                document(&call, DialectDocument::Index, index::document(call.clone())).await?;
            Ok(contents(&call, &uri, dialects::index::MEDIA_TYPE, made))
        }
        AliasTarget::PlainIndex => {
            let work = skills_over_mcp::index(call.clone());
            let made = document(&call, DialectDocument::PlainIndex, work).await?;
            Ok(contents(&call, &uri, dialects::skills_over_mcp::MEDIA_TYPE, made))
        }
        AliasTarget::PromptXml => {
            let work = skills_over_mcp::prompt_xml(call.clone());
            let made = document(&call, DialectDocument::PromptXml, work).await?;
            Ok(contents(&call, &uri, dialects::skills_over_mcp::XML_MEDIA_TYPE, made))
        }
        AliasTarget::Archive(skill, format) => {
            let memory = archives::reserve(&call, &skill).await?;
            let archive = archives::read(&call, &skill, format).await?.ok_or(missing)?;
            Ok(call.contents(&uri, format.media_type(), &archive.bytes).within(memory))
        }
        AliasTarget::Manifest(skill) => {
            let manifest = fastmcp::manifest(&skill).ok_or(missing)?;
            Ok(call.contents(&uri, dialects::fastmcp::MEDIA_TYPE, &manifest))
        }
        AliasTarget::Documents(skill, name) => {
            let list = skills_over_mcp::list(&skill, &name).ok_or(missing)?;
            Ok(call.contents(&uri, dialects::skills_over_mcp::MEDIA_TYPE, &list))
        }
        AliasTarget::File(skill, path) => call.file(&skill, &path, &uri).await?.ok_or(missing),
        AliasTarget::Collection(skill) => skilljack::read_collection(call, skill, uri).await,
        AliasTarget::Usage(skill) => {
            let body = call.instructions(&skill).await?;
            Ok(call.contents(&uri, dialects::usage::MEDIA_TYPE, body.as_bytes()))
        }
    }
}

/// Returns a document in the form it is sent; it is made once for each snapshot.
async fn document(
    call: &OwnedCall,
    document: DialectDocument,
    make: impl Future<Output = Result<Vec<u8>, RpcError>>,
) -> Result<Bytes, RpcError> {
    let key = DocumentKey {
        document,
        generation: call.snapshot.generation(),
        view: call.caller.view,
        era: call.era(),
    };
    let make = async { Ok(render(&make.await?).to_vec()) };
    Ok(call.state.projections.documents.get(key, make).await?.bytes)
}

fn contents(
    call: &OwnedCall,
    uri: &str,
    media_type: &str,
    rendered: Bytes,
) -> crate::payload::Payload {
    reading::contents(&call.style, uri, media_type, rendered)
}
