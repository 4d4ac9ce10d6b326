//! The description of the API, made from its code.

use http::StatusCode;
use utoipa::{
    Modify, OpenApi,
    openapi::{
        self, Ref, RefOr,
        content::ContentBuilder,
        path::{Operation, PathItem},
        response::{ResponseBuilder, Responses},
        security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
    },
};

use super::{
    audit, channels, decisions, hub, namespaces, operate, problem::Problem, publish, publishers,
    reviews, skills, states, tokens, upstreams,
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Skillwire hub",
        description = "Publishes skills in versions and serves them. Callers send `Authorization: Bearer TOKEN`; what is public is read without one. Refusals are problem documents (RFC 9457).",
    ),
    modifiers(&Callers, &Refusals, &Descriptions),
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

/// The name of the scheme of tokens.
const BEARER: &str = "bearer";

/// The name of the answer to a request that was refused or failed.
const PROBLEM: &str = "Problem";

/// Says how callers name themselves: reads of what is public need no token, changes need one.
struct Callers;

impl Modify for Callers {
    fn modify(&self, document: &mut openapi::OpenApi) {
        let description = "A token of the hub, of a configured issuer, or of a trusted publisher.";
        let scheme =
            HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(description));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme(BEARER, SecurityScheme::Http(scheme.build()));
        let token = || SecurityRequirement::new(BEARER, [""; 0]);
        document.security = Some(vec![token(), SecurityRequirement::default()]);
        for path in document.paths.paths.values_mut() {
            for change in changes(path) {
                change.security = Some(vec![token()]);
            }
        }
    }
}

/// Adds the answers that every operation may give.
struct Refusals;

impl Modify for Refusals {
    fn modify(&self, document: &mut openapi::OpenApi) {
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
        let problem = ResponseBuilder::new()
            .description("The request was refused, or failed; the document says why.")
            .content("application/problem+json", content)
            .build();
        let components = document.components.get_or_insert_default();
        components.responses.insert(PROBLEM.to_owned(), problem.into());
        for path in document.paths.paths.values_mut() {
            changes(path).for_each(|change| add_refusals(&mut change.responses));
            path.get.iter_mut().for_each(|read| add_refusals(&mut read.responses));
        }
    }
}

fn add_refusals(answers: &mut Responses) {
    let common = [
        StatusCode::BAD_REQUEST,
        StatusCode::UNAUTHORIZED,
        StatusCode::FORBIDDEN,
        StatusCode::NOT_FOUND,
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::SERVICE_UNAVAILABLE,
    ];
    let codes = common.iter().map(StatusCode::as_str).chain(["default"]);
    for code in codes {
        let problem = || RefOr::Ref(Ref::from_response_name(PROBLEM));
        answers.responses.entry(code.to_owned()).or_insert_with(problem);
    }
}

/// Describes the answers that say nothing of their own: `OpenAPI` requires a description of every answer.
struct Descriptions;

impl Modify for Descriptions {
    fn modify(&self, document: &mut openapi::OpenApi) {
        for path in document.paths.paths.values_mut() {
            changes(path).for_each(|change| describe(&mut change.responses));
            path.get.iter_mut().for_each(|read| describe(&mut read.responses));
        }
    }
}

fn describe(answers: &mut Responses) {
    for (code, answer) in &mut answers.responses {
        if let RefOr::T(answer) = answer
            && answer.description.is_empty()
        {
            description(code).clone_into(&mut answer.description);
        }
    }
}

/// What an answer with the status code says, whatever the operation.
fn description(code: &str) -> &'static str {
    match code {
        "200" => "The request succeeded.",
        "201" => "The request made something new.",
        "204" => "The request succeeded, and there is nothing to return.",
        "400" => "The request is not what this operation takes.",
        "401" => "The request needs a valid token.",
        "403" => "The caller may not do this.",
        "404" => "There is no such thing, or the caller may not know of it.",
        "409" => "The state of the hub does not allow this.",
        "413" => "The request is larger than the hub takes.",
        "422" => "The skill breaks a rule, or its bytes are not what the request says.",
        "429" => "The caller sends too many requests.",
        "503" => "The hub cannot answer now; the same request may succeed later.",
        _ => "The request was refused, or failed.",
    }
}

/// The operations of a path that change something.
fn changes(path: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { put, post, delete, patch, .. } = path;
    [put, post, delete, patch].into_iter().flatten()
}

/// Returns the `OpenAPI` document of the API, as JSON.
pub fn openapi_document() -> String {
    // Serialisation cannot fail: the document is made of texts and maps.
    let mut text = HubApiDocument::openapi().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}
