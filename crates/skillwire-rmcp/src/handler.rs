//! Implements the SDK's handler.

#![expect(deprecated, reason = "clients of the old era subscribe with methods that are deprecated")]

use std::borrow::Cow;

use rmcp::{
    ErrorData, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam,
        CompleteRequestParams, CompleteResult, CustomNotification, CustomRequest, CustomResult,
        DiscoverResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, GetTaskParams,
        GetTaskResult, InitializeRequestParams, InitializeResult, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult, Reference, ServerConfig, SetLevelRequestParams,
        SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
        UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext},
};
use serde_json::{Value, json};
use skillwire_engine::{Answer, Caller};
use skillwire_protocol::{
    Era,
    method::{self, client_requests},
};

use super::{WithSkills, ask, changes, era, merge, typed};

type RequestScope = RequestContext<RoleServer>;

impl<H: ServerHandler> WithSkills<H> {
    /// Returns a page of our listing; the pages of the handler's own listing follow our last one.
    async fn page(
        &self,
        (method, member): (&str, &str),
        request: Option<PaginatedRequestParams>,
        era: Era,
        own: impl AsyncFnOnce(Option<PaginatedRequestParams>) -> Result<Value, ErrorData>,
    ) -> Result<Value, ErrorData> {
        let cursor = request.as_ref().and_then(|request| request.cursor.as_deref());
        let offers_resources = self.own().resources.is_some();
        if let Some(cursor) = merge::own_cursor(cursor).filter(|_| offers_resources) {
            let request = request.unwrap_or_default().with_cursor(Some(cursor));
            let mut page = own(Some(request)).await?;
            self.drop_ours(&mut page[member]);
            merge::mark_cursor(&mut page);
            return Ok(page);
        }
        let params = cursor.map(|cursor| json!({ "cursor": cursor }));
        let mut page = self.ask(era, method, params).await?;
        if offers_resources && page.get("nextCursor").is_none() {
            let mut more = own(request.map(|request| request.with_cursor(None))).await?;
            self.drop_ours(&mut more[member]);
            merge::append(member, &mut page, more)?;
        }
        Ok(page)
    }

    /// Removes the files of skills from the handler's own list, because the engine already lists
    /// them.
    fn drop_ours(&self, items: &mut Value) {
        let Some(items) = items.as_array_mut() else { return };
        items.retain(|item| !item["uri"].as_str().is_some_and(|uri| self.serves(uri)));
    }

    fn subscription(&self, era: Era, method: &str, uri: &str) -> Result<(), ErrorData> {
        let text = ask::text(method, Some(json!({ "uri": uri })));
        let engine = self.skills.engine();
        ask::read(&text, |request| {
            let answer = engine.answer(&Caller::default(), era, request);
            match answer {
                Answer::Now(Err(refusal)) => Err(ask::error(&refusal)),
                _ => self.session.note(request, |uri| engine.follow(&Caller::default(), era, uri)),
            }
        })?
    }
}

impl<H: ServerHandler> ServerHandler for WithSkills<H> {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.server.get_info();
        merge::declare(&self.skills, &mut info.capabilities);
        merge::instruct(&self.skills, &mut info.instructions);
        info
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestScope,
    ) -> Result<InitializeResult, ErrorData> {
        let mut info = self.server.initialize(request, context).await?;
        merge::declare(&self.skills, &mut info.capabilities);
        merge::instruct(&self.skills, &mut info.instructions);
        Ok(info)
    }

    fn negotiate_initialize(
        &self,
        request: &InitializeRequestParams,
    ) -> Result<InitializeResult, ErrorData> {
        let mut info = self.server.negotiate_initialize(request)?;
        merge::declare(&self.skills, &mut info.capabilities);
        merge::instruct(&self.skills, &mut info.instructions);
        Ok(info)
    }

    async fn discover(&self, context: RequestScope) -> Result<DiscoverResult, ErrorData> {
        let mut discovered = self.server.discover(context).await?;
        merge::declare(&self.skills, &mut discovered.capabilities);
        merge::instruct(&self.skills, &mut discovered.instructions);
        Ok(discovered)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestScope,
    ) -> Result<CustomResult, ErrorData> {
        let (era, params) = (era(&context), request.params.clone());
        let known = client_requests().find(|method| method.name == request.method);
        match known.map(|method| method.name) {
            None => self.server.on_custom_request(request, context).await,
            Some(
                ours @ (method::SKILLS_LIST
                | method::SKILLS_GET
                | method::SKILLS_READ
                | method::SKILLS_READ_REFERENCE
                | method::SKILLS_EXECUTE
                | method::DIRECTORY_READ),
            ) => {
                match self.ask(era, ours, params).await {
                    // The operator can turn off reading directories; the handler may offer it then.
                    Err(error) if error.code == ErrorCode::METHOD_NOT_FOUND => {
                        self.server.on_custom_request(request, context).await
                    }
                    answered => answered.map(CustomResult::new),
                }
            }
            // The SDK passes a method that it knows to this hook when it cannot read the
            // parameters.
            Some(known) => Err(self.refuse(era, known, params).await),
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestScope,
    ) -> Result<ListResourcesResult, ErrorData> {
        let era = era(&context);
        let own = async |request| {
            let listed = self.server.list_resources(request, context).await?;
            serde_json::to_value(listed).map_err(|_| ask::internal())
        };
        typed(self.page((method::RESOURCES_LIST, "resources"), request, era, own).await?)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestScope,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let era = era(&context);
        let own = async |request| {
            let listed = self.server.list_resource_templates(request, context).await?;
            serde_json::to_value(listed).map_err(|_| ask::internal())
        };
        let listing = (method::RESOURCES_TEMPLATES_LIST, "resourceTemplates");
        typed(self.page(listing, request, era, own).await?)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestScope,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let (era, uri) = (era(&context), request.uri.clone());
        if !self.serves(&uri) && self.own().resources.is_some() {
            match self.server.read_resource(request, context).await {
                // For the URI of a skill, the engine can give the better error.
                Err(_) if self.is_ours(&uri) => {}
                own => return own,
            }
        }
        let result = self.ask(era, method::RESOURCES_READ, Some(json!({ "uri": uri }))).await?;
        typed::<ReadResourceResult>(result).map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestScope,
    ) -> Result<CompleteResult, ErrorData> {
        let own = self.own().completions.is_some();
        if own && !matches!(request.r#ref, Reference::Resource(_)) {
            return self.server.complete(request, context).await;
        }
        let params = serde_json::to_value(&request).map_err(|_| ask::internal())?;
        match self.ask(era(&context), method::COMPLETE, Some(params)).await {
            Err(_) if own => self.server.complete(request, context).await,
            answered => typed(answered?),
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestScope,
    ) -> Result<(), ErrorData> {
        let own = self.own().resources.is_some_and(|own| own.subscribe == Some(true));
        if own && !self.serves(&request.uri) {
            return self.server.subscribe(request, context).await;
        }
        self.subscription(era(&context), method::RESOURCES_SUBSCRIBE, &request.uri)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestScope,
    ) -> Result<(), ErrorData> {
        let own = self.own().resources.is_some_and(|own| own.subscribe == Some(true));
        // Always passed on: the file may be gone since the client subscribed to it.
        self.subscription(era(&context), method::RESOURCES_UNSUBSCRIBE, &request.uri)?;
        if own && !self.serves(&request.uri) {
            return self.server.unsubscribe(request, context).await;
        }
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let own = self.server.accepted_subscription_filter(requested).unwrap_or_default();
        Some(self.session.accept(self.skills.engine().catalog(), requested, own))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let feed = self.session.begin(self.skills.engine().catalog(), context.requested());
        let (accepted, sink) = (context.accepted().clone(), context.sink().clone());
        let own = self.server.accepted_subscription_filter(context.requested()).is_some();
        let told = async {
            changes::forward(feed, &accepted, sink).await;
            // The wrapped handler may still have changes to report, so this must not end the
            // subscription.
            std::future::pending::<()>().await;
        };
        let served = async {
            if own {
                return self.server.listen(context).await;
            }
            context.cancelled().await;
            Ok(())
        };
        tokio::select! {
            ended = served => ended,
            () = told => Ok(()),
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.session.tell(self.skills.engine().catalog(), context.peer.clone());
        self.server.on_initialized(context).await;
    }

    // Everything below is the handler's own.

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.server.supported_protocol_versions()
    }

    async fn ping(&self, context: RequestScope) -> Result<(), ErrorData> {
        self.server.ping(context).await
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestScope,
    ) -> Result<(), ErrorData> {
        self.server.set_level(request, context).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestScope,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.server.get_prompt(request, context).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestScope,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.server.list_prompts(request, context).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestScope,
    ) -> Result<CallToolResponse, ErrorData> {
        self.server.call_tool(request, context).await
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestScope,
    ) -> Result<ListToolsResult, ErrorData> {
        self.server.list_tools(request, context).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.server.get_tool(name)
    }

    async fn on_cancelled(
        &self,
        notification: CancelledNotificationParam,
        context: NotificationContext<RoleServer>,
    ) {
        self.server.on_cancelled(notification, context).await;
    }

    async fn on_progress(
        &self,
        notification: ProgressNotificationParam,
        context: NotificationContext<RoleServer>,
    ) {
        self.server.on_progress(notification, context).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.server.on_roots_list_changed(context).await;
    }

    async fn on_custom_notification(
        &self,
        notification: CustomNotification,
        context: NotificationContext<RoleServer>,
    ) {
        self.server.on_custom_notification(notification, context).await;
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestScope,
    ) -> Result<GetTaskResult, ErrorData> {
        self.server.get_task(request, context).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestScope,
    ) -> Result<(), ErrorData> {
        self.server.update_task(request, context).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestScope,
    ) -> Result<(), ErrorData> {
        self.server.cancel_task(request, context).await
    }
}
