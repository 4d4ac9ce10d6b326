//! `resources/read` of what a dialect adds.

use bytes::Bytes;
use skillwire_protocol::error::RpcError;

use super::{
    alias::{Projected, resolve},
    archives,
    documents::{Document, DocumentKey},
    fastmcp, index,
    scene::{Scene, media_type},
    skilljack, skills_over_mcp,
};
use crate::engine::{Outcome, contents::render, reading};

const JSON: &str = "application/json";

/// What clients of the guide expect of it.
const USAGE: &str = "text/plain";

/// Reads what a URI stands for, or ends with `missing`.
pub(crate) async fn read(scene: Scene, uri: String, missing: RpcError) -> Outcome {
    let Some(projected) = resolve(&scene, &uri).await? else { return Err(missing) };
    match projected {
        Projected::Index => {
            let made = document(&scene, Document::Index, index::document(scene.clone())).await?;
            Ok(contents(&scene, &uri, JSON, made))
        }
        Projected::PlainIndex => {
            let work = skills_over_mcp::index(scene.clone());
            let made = document(&scene, Document::PlainIndex, work).await?;
            Ok(contents(&scene, &uri, JSON, made))
        }
        Projected::PromptXml => {
            let work = skills_over_mcp::prompt_xml(scene.clone());
            let made = document(&scene, Document::PromptXml, work).await?;
            Ok(contents(&scene, &uri, "application/xml", made))
        }
        Projected::Archive(skill, format) => {
            let archive = archives::read(&scene, &skill, format).await?.ok_or(missing)?;
            Ok(scene.contents(&uri, format.media_type(), &archive.bytes))
        }
        Projected::Manifest(skill) => {
            let manifest = fastmcp::manifest(&skill).ok_or(missing)?;
            Ok(scene.contents(&uri, JSON, &manifest))
        }
        Projected::Documents(skill, name) => {
            let list = skills_over_mcp::list(&skill, &name).ok_or(missing)?;
            Ok(scene.contents(&uri, JSON, &list))
        }
        Projected::File(skill, path) => {
            let bytes = scene.bytes(&skill, &path).await?.ok_or(missing)?;
            Ok(scene.contents(&uri, media_type(&skill, &path, &bytes), &bytes))
        }
        Projected::Collection(skill) => skilljack::read_collection(scene, skill, uri).await,
        Projected::Usage(skill) => {
            let body = scene.instructions(&skill).await?;
            Ok(scene.contents(&uri, USAGE, body.as_bytes()))
        }
    }
}

/// A document as it is sent: made once for each state of the catalogue.
async fn document(
    scene: &Scene,
    document: Document,
    make: impl Future<Output = Result<Vec<u8>, RpcError>>,
) -> Result<Bytes, RpcError> {
    let key = DocumentKey {
        document,
        generation: scene.snapshot.generation(),
        view: scene.view,
        era: scene.era(),
    };
    let make = async { Ok(render(&make.await?).to_vec()) };
    Ok(scene.projections.documents.get(key, make).await?.bytes)
}

fn contents(
    scene: &Scene,
    uri: &str,
    media_type: &str,
    rendered: Bytes,
) -> crate::payload::Payload {
    reading::contents(&scene.style, uri, media_type, rendered)
}
