//! The description of the API, made from its code.

use utoipa::OpenApi;

use super::{
    audit, channels, decisions, hub, namespaces, operate, problem::Problem, publish, publishers,
    reviews, skills, states, tokens, upstreams,
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Skillwire hub",
        description = "Publishes skills in versions and serves them. Callers send `Authorization: Bearer TOKEN`; refusals are problem documents (RFC 9457).",
    ),
    paths(
        hub::show,
        hub::document,
        namespaces::list,
        namespaces::create,
        namespaces::show,
        namespaces::change,
        namespaces::grant,
        namespaces::withdraw,
        publishers::list,
        publishers::trust,
        publishers::distrust,
        skills::list,
        skills::show,
        skills::versions,
        publish::publish,
        skills::version,
        skills::file,
        skills::diff,
        skills::waiting,
        states::change,
        states::revoke_content,
        channels::promote,
        channels::roll_back,
        upstreams::list,
        upstreams::add,
        upstreams::show,
        upstreams::change,
        upstreams::remove,
        reviews::list,
        reviews::show,
        reviews::file,
        reviews::decide,
        decisions::list,
        decisions::keys,
        tokens::list,
        tokens::create,
        tokens::revoke,
        audit::list,
        audit::check,
        operate::collect,
        operate::purge,
        operate::purge_subject,
    ),
    components(schemas(Problem, super::NewState, super::NewPublisher))
)]
struct HubApiDocument;

/// Returns the `OpenAPI` document of the API, as JSON.
pub fn openapi_document() -> String {
    // Serialisation cannot fail: the document is made of texts and maps.
    let mut text = HubApiDocument::openapi().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}
