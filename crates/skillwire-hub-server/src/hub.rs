//! A hub as one value: its API for programs on this machine, and its service for clients.

use std::sync::Arc;

use axum::Router;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use skillwire_hub_replica::{Following, Replica, ServingOptions, StartError};
use skillwire_hub_store::HubStore;
use skillwire_hub_upstreams::InspectContent;
use tower_service::Service as _;

use crate::{
    api::{self, ApiState},
    auth::{Authenticator, LocalOperator},
    readers::HubReaders,
    service::HubService,
    upload::Uploads,
};

/// What a hub is called, and for whom tokens of CI are.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HubIdentity {
    /// The name that the operator gave it.
    pub name: String,
    /// The audience that tokens of CI must name.
    pub audience: String,
    /// Issuers of tokens that may be on a private network or without TLS. Others must be on the public
    /// internet, so that the owner of a namespace cannot make the hub send requests into its network.
    pub private_issuers: Vec<String>,
}

impl HubIdentity {
    /// Names a hub; tokens of CI must name the audience.
    pub fn new(name: impl Into<String>, audience: impl Into<String>) -> Self {
        Self { name: name.into(), audience: audience.into(), private_issuers: Vec::new() }
    }

    /// Names issuers that may be on a private network or without TLS.
    #[must_use]
    pub fn private_issuers(mut self, issuers: impl IntoIterator<Item = String>) -> Self {
        self.private_issuers.extend(issuers);
        self
    }
}

/// The API of a hub for a program that has access to the hub's own files.
///
/// It is the API that clients use over HTTP, called without a network. Its caller is the operator, who
/// may do everything: a user who can open the files could change them anyway.
#[derive(Debug, Clone)]
pub struct LocalApi(Router);

impl LocalApi {
    /// Makes the API of a store; nothing is served.
    pub fn new(store: HubStore, identity: HubIdentity) -> Self {
        Self::with_options(store, identity, &ServingOptions::default())
    }

    /// The same with something that looks at uploads.
    pub fn inspecting(
        store: HubStore,
        identity: HubIdentity,
        inspector: Arc<dyn InspectContent>,
    ) -> Self {
        Self::with_options(store, identity, &ServingOptions::default().inspector(inspector))
    }

    fn with_options(store: HubStore, identity: HubIdentity, options: &ServingOptions) -> Self {
        Self(api::router(state(store, identity, None, options)))
    }

    /// Answers one request.
    pub async fn call(&self, request: Request<Bytes>) -> Response<Bytes> {
        let mut request = request.map(axum::body::Body::from);
        request.extensions_mut().insert(LocalOperator);
        let mut router = self.0.clone();
        let response = match router.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let (mut head, body) = response.into_parts();
        let body = if let Ok(body) = body.collect().await {
            body.to_bytes()
        } else {
            head.status = StatusCode::INTERNAL_SERVER_ERROR;
            Bytes::new()
        };
        Response::from_parts(head, body)
    }
}

/// Loads a hub and makes the service of its listener.
///
/// The service follows changes for as long as the returned task runs.
#[tracing::instrument(skip_all, fields(name = %identity.name))]
pub async fn start(
    store: HubStore,
    identity: HubIdentity,
    options: ServingOptions,
) -> Result<(HubService, Following), StartError> {
    let replica = Replica::start(store.clone(), options.clone()).await?;
    let url = options.url.as_ref().map(|url| format!("{url}{}", api::ROOT));
    let signing = (options.signer.clone(), identity.name.clone());
    let access = options.access.clone();
    let readers = HubReaders::new(store.clone(), Arc::clone(&replica), access, url, signing);
    let api = api::router(state(store, identity, Some(Arc::clone(&replica)), &options));
    let resource = options.protected(api::ROOT);
    let service = HubService::new(Arc::clone(&replica), api, resource, readers);
    Ok((service, replica.follow()))
}

fn state(
    store: HubStore,
    identity: HubIdentity,
    replica: Option<Arc<Replica>>,
    options: &ServingOptions,
) -> Arc<ApiState> {
    let HubIdentity { name, audience, private_issuers } = identity;
    let resource = options.protected(api::ROOT);
    let access = options.access.clone();
    let authenticator =
        Authenticator::new(store.clone(), audience, private_issuers, access, resource);
    let signer = options.signer.clone();
    let upstreams = replica.as_ref().map(|replica| replica.upstream_statuses());
    let (uploads, inspector) = (Uploads::default(), options.inspector.clone());
    Arc::new(ApiState {
        store,
        replica,
        authenticator,
        uploads,
        inspector,
        name,
        signer,
        upstreams,
    })
}
