//! The HTTP API of a hub, below `/api/v1`.

mod audit;
mod channels;
mod decisions;
mod extract;
mod hub;
mod namespaces;
mod openapi;
mod operate;
mod problem;
mod publish;
mod publishers;
mod refusals;
mod reviews;
mod skills;
mod states;
mod tokens;
mod upstreams;

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    middleware::{Next, from_fn},
    response::{IntoResponse as _, Response},
    routing::{get, post, put},
};
use http::{StatusCode, header};
use semver::Version;
use skillwire_hub::{Action, Caller, NamespaceName, SkillId, VersionRecord, VersionRef};
use skillwire_hub_replica::{DecisionSigner, Replica, UpstreamStatuses};
use skillwire_hub_store::HubStore;
use skillwire_hub_upstreams::InspectContent;

pub use skillwire_hub_api::*;

pub(crate) use self::problem::ProblemKind;
pub use self::{
    openapi::openapi_document,
    problem::{Compared, Problem},
};
use crate::{auth::Authenticator, upload::Uploads};

/// The path that all addresses of the API begin with.
pub(crate) const ROOT: &str = "/api/v1";

/// What every request shares.
pub(crate) struct ApiState {
    pub(crate) store: HubStore,
    /// The replica of this process, if it serves clients.
    pub(crate) replica: Option<Arc<Replica>>,
    pub(crate) authenticator: Authenticator,
    pub(crate) uploads: Uploads,
    /// What looks at uploads for findings and signatures.
    pub(crate) inspector: Option<Arc<dyn InspectContent>>,
    pub(crate) name: String,
    pub(crate) signer: DecisionSigner,
    /// How the upstreams of this replica are doing, if it serves clients.
    pub(crate) upstreams: Option<Arc<dyn UpstreamStatuses>>,
}

impl ApiState {
    /// Makes a change visible to clients of this replica before it is acknowledged.
    ///
    /// The change is committed by now, so that a failure here must not be an error of the request.
    async fn settle(&self) {
        let Some(replica) = &self.replica else { return };
        if let Err(error) = replica.catch_up().await {
            tracing::warn!(%error, "a change is committed but cannot be shown yet");
        }
    }

    /// The store for a change; one that is only tried is undone.
    fn writer(&self, dry_run: bool) -> HubStore {
        if dry_run { self.store.rehearsal() } else { self.store.clone() }
    }

    /// Returns a version that the caller may read, with its files.
    async fn version(
        &self,
        caller: &Caller,
        skill: &SkillId,
        version: &Version,
    ) -> Result<VersionRecord, Problem> {
        let version = VersionRef::new(skill.clone(), version.clone());
        Ok(self.store.version(caller, &version).await?)
    }

    /// Refuses a caller that may not do something in a namespace, before anything else is done for it.
    async fn require(
        &self,
        caller: &Caller,
        action: Action,
        namespace: &NamespaceName,
    ) -> Result<(), Problem> {
        let namespace = self.store.namespace(caller, namespace).await?;
        caller.require(action, &namespace).map_err(Problem::from)
    }
}

/// Makes the routes.
pub(crate) fn router(state: Arc<ApiState>) -> Router {
    let routes = Router::new()
        .route("/hub", get(hub::show))
        .route("/openapi.json", get(hub::document))
        .route("/namespaces", get(namespaces::list).post(namespaces::create))
        .route("/namespaces/{namespace}", get(namespaces::show).patch(namespaces::change))
        .route(
            "/namespaces/{namespace}/grants",
            put(namespaces::grant).delete(namespaces::withdraw),
        )
        .route("/namespaces/{namespace}/publishers", get(publishers::list).post(publishers::trust))
        .route(
            "/namespaces/{namespace}/publishers/{id}",
            axum::routing::delete(publishers::distrust),
        )
        .route("/skills", get(skills::list))
        .route("/skills/{namespace}/{name}", get(skills::show))
        .route("/skills/{namespace}/{name}/versions", get(skills::versions).post(publish::publish))
        .route("/skills/{namespace}/{name}/versions/{version}", get(skills::version))
        .route("/skills/{namespace}/{name}/versions/{version}/files/{*path}", get(skills::file))
        .route("/skills/{namespace}/{name}/versions/{version}/state", post(states::change))
        .route("/skills/{namespace}/{name}/versions/{version}/purge", post(operate::purge))
        .route("/skills/{namespace}/{name}/diff", get(skills::diff))
        .route("/skills/{namespace}/{name}/channels/{channel}", put(channels::promote))
        .route("/skills/{namespace}/{name}/channels/{channel}/rollback", post(channels::roll_back))
        .route("/waiting", get(skills::waiting))
        .route("/upstreams", get(upstreams::list).post(upstreams::add))
        .route(
            "/upstreams/{label}",
            get(upstreams::show).patch(upstreams::change).delete(upstreams::remove),
        )
        .route("/reviews", get(reviews::list))
        .route("/reviews/{id}", get(reviews::show))
        .route("/reviews/{id}/files/{*path}", get(reviews::file))
        .route("/reviews/{id}/decision", post(reviews::decide))
        .route("/content/{content}/revoke", post(states::revoke_content))
        .route("/content/{content}/decisions", get(decisions::list))
        .route("/keys", get(decisions::keys))
        .route("/tokens", get(tokens::list).post(tokens::create))
        .route("/tokens/{id}", axum::routing::delete(tokens::revoke))
        .route("/audit", get(audit::list))
        .route("/audit/check", get(audit::check))
        .route("/gc", post(operate::collect))
        .route("/subjects/purge", post(operate::purge_subject))
        .fallback(unknown)
        .method_not_allowed_fallback(not_allowed)
        .with_state(state);
    Router::new().nest(ROOT, routes).layer(from_fn(ask_for_token))
}

async fn unknown() -> Problem {
    ProblemKind::NotFound
        .because("The API has no such address. `/api/v1/openapi.json` has all of them.")
}

async fn not_allowed() -> Problem {
    ProblemKind::Method.because(
        "This address does not take this method; the header `Allow` has those that it takes.",
    )
}

/// Asks a caller without a token for one wherever it was refused.
///
/// What it may not know of and what is not there look the same to it.
async fn ask_for_token(request: Request, next: Next) -> Response {
    let is_anonymous = !request.headers().contains_key(header::AUTHORIZATION)
        && request.extensions().get::<crate::auth::LocalOperator>().is_none();
    let response = next.run(request).await;
    let refused = matches!(response.status(), StatusCode::FORBIDDEN | StatusCode::NOT_FOUND);
    if is_anonymous && refused {
        let detail = "This needs a token, or is not there. Send `Authorization: Bearer TOKEN`.";
        return ProblemKind::Unauthorized.because(detail).into_response();
    }
    response
}

/// Parses the two segments that name a skill.
fn skill_id(namespace: &str, name: &str) -> Result<SkillId, Problem> {
    format!("{namespace}/{name}").parse().map_err(|error| malformed(&error))
}

/// Makes the problem for a text that cannot be understood.
fn malformed(error: &dyn std::fmt::Display) -> Problem {
    ProblemKind::Malformed.because(error.to_string())
}
