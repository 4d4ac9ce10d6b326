//! Lists and calls of tools and prompts, and resources that are offered beside skills.

use std::{borrow::Cow, sync::Arc};

use serde_json::{Map, Value, json};
use skillwire_core::Digest;
use skillwire_protocol::{
    ClientCapabilities, Era, ErrorCode, RpcError, message::string, meta, method,
};

use super::{
    Answer, Call, Outcome,
    paging::PagedListing,
    result::{ResultStyle, ResultText},
};
use crate::{
    caller::Caller,
    config::CacheScope,
    offer::{
        self, Asked, Client, Interrupt, Invocation, Items, Kind, Offer, Progress, PromptReply,
        ResourceReply, StateSeal, ToolReply,
    },
    subscription::Followed,
};

const TOOLS: PagedListing<'_> =
    PagedListing { method: method::TOOLS_LIST, of: "", member: "tools" };
const PROMPTS: PagedListing<'_> =
    PagedListing { method: method::PROMPTS_LIST, of: "", member: "prompts" };

impl Call<'_> {
    pub(super) fn list_tools(&self) -> Outcome {
        self.list_offered(&TOOLS, &self.offered(|offer, caller| offer.tools(caller)))
    }

    pub(super) fn list_prompts(&self) -> Outcome {
        self.list_offered(&PROMPTS, &self.offered(|offer, caller| offer.prompts(caller)))
    }

    /// What every offer has of one kind for the caller.
    pub(super) fn offered(
        &self,
        list: impl Fn(&Arc<dyn Offer>, &Caller) -> Arc<Items>,
    ) -> Vec<Arc<Items>> {
        let caller = self.audience();
        self.offers().map(|offer| list(offer, &caller)).collect()
    }

    /// Reads a resource that is offered besides files of skills; `None` if the caller may read none at
    /// this URI.
    pub(super) fn read_offered(&self, uri: &str) -> Option<Answer> {
        let offer = self.state.offers.with_resource(&self.audience(), uri)?;
        let invocation = match self.invocation(method::RESOURCES_READ, uri) {
            Ok(invocation) => invocation,
            Err(error) => return Some(Answer::Now(Err(error))),
        };
        // What is read is for one caller, and its server may change it at any time.
        let style = ResultStyle { scope: CacheScope::Private, ttl_ms: 0, ..self.style() };
        let not_found = self.resource_not_found(uri);
        let work = offer.read_resource(invocation);
        Some(Answer::Later(Box::pin(async move {
            let read = work.await.map_err(|interrupt| match interrupt.error() {
                Some(error) if error.code == ErrorCode::InvalidParams => not_found.into(),
                _ => interrupt,
            });
            finish(&style, read, |result, reply: ResourceReply| {
                result.passed_on_read(&reply.verbatim);
            })
        })))
    }

    /// Follows changes of a resource that is offered besides files of skills.
    pub(super) fn follow_offered(&self, uri: &str) -> Option<Followed> {
        let caller = self.audience();
        let offer = self.state.offers.with_resource(&caller, uri)?;
        offer.follow_resource(&caller, uri).map(Followed::Offered)
    }

    fn list_offered(&self, walk: &PagedListing<'_>, lists: &[Arc<Items>]) -> Outcome {
        let after = self.after(walk)?;
        let page = offer::page(lists, after.as_deref(), self.state.config.page_size);
        let mut result = self.begin_page(walk, &page);
        result.cacheable();
        result.server_info();
        Ok(result.finish().into())
    }

    pub(super) fn call_tool(&self) -> Answer {
        let style = self.style();
        let (offer, name) = match self.tool() {
            Ok(found) => found,
            Err(error) => return Answer::Now(Err(error)),
        };
        if self.params.arguments.is_some_and(|raw| !raw.get().starts_with(['{', 'n'])) {
            let reply = ToolReply::error("`arguments` must be an object.");
            return Answer::Now(finish(&style, Ok(reply), tool_result));
        }
        let invocation = match self.invocation(method::TOOLS_CALL, &name) {
            Ok(invocation) => invocation,
            Err(error) => return Answer::Now(Err(error)),
        };
        let work = offer.call(invocation);
        Answer::Later(Box::pin(async move {
            let called = work.await.or_else(Interrupt::into_readable);
            finish(&style, called, tool_result)
        }))
    }

    pub(super) fn get_prompt(&self) -> Answer {
        let style = self.style();
        let (offer, invocation) = match self.prompt() {
            Ok(found) => found,
            Err(error) => return Answer::Now(Err(error)),
        };
        let work = offer.prompt(invocation);
        Answer::Later(Box::pin(async move { finish(&style, work.await, prompt_result) }))
    }

    fn tool(&self) -> Result<(&Arc<dyn Offer>, Cow<'_, str>), RpcError> {
        let name = self.name()?;
        let caller = self.audience();
        let found = self.offers().find(|offer| offer.has_tool(&caller, &name));
        Ok((found.ok_or_else(|| offer::unknown("tool", &name))?, name))
    }

    fn prompt(&self) -> Result<(&Arc<dyn Offer>, Invocation), RpcError> {
        let name = self.name()?;
        let caller = self.audience();
        let found = self.offers().find(|offer| offer.has_prompt(&caller, &name));
        let offer = found.ok_or_else(|| offer::unknown("prompt", &name))?;
        Ok((offer, self.invocation(method::PROMPTS_GET, &name)?))
    }

    /// The caller together with the name that its client gives itself.
    ///
    /// A legacy client gives it when it opens a session, and its transport keeps it.
    pub(super) fn audience(&self) -> Caller {
        let given = match self.era {
            Era::Modern => meta::client_name(self.params.meta),
            Era::Legacy => meta::name_in(self.params.client_info),
        };
        let client = given.map(Into::into).or_else(|| self.caller.client.clone());
        Caller { client, ..self.caller.clone() }
    }

    fn name(&self) -> Result<Cow<'_, str>, RpcError> {
        match self.params.name {
            Some(raw) => string(raw, "params.name"),
            None => Err(RpcError::invalid_params("`params.name` is required.")),
        }
    }

    fn invocation(&self, method: &str, name: &str) -> Result<Invocation, RpcError> {
        let arguments: Map<String, Value> = match self.params.arguments {
            None => Map::new(),
            Some(raw) if raw.get() == "null" => Map::new(),
            Some(raw) => serde_json::from_str(raw.get())
                .map_err(|_| RpcError::invalid_params("`params.arguments` must be an object."))?,
        };
        let caller = self.audience();
        let digest = Digest::of(json!(arguments).to_string().as_bytes()).to_string();
        let scope = [caller.name.as_str(), method, name, &digest];
        let seal = StateSeal::new(self.state.seal.clone(), self.state.start, scope);
        let state =
            self.params.request_state.map(|raw| string(raw, "params.requestState")).transpose()?;
        let answers = match self.era {
            Era::Modern => seal.open(state.as_deref(), self.params.input_responses)?,
            // These members have no meaning in the legacy era.
            Era::Legacy => seal.open(None, None)?,
        };
        let capabilities = match (self.era, &self.link.session) {
            (Era::Modern, _) => meta::capabilities(self.params.meta),
            (Era::Legacy, Some(session)) => session.capabilities,
            (Era::Legacy, None) => ClientCapabilities::default(),
        };
        let client = Client::new(Asked {
            caller,
            era: self.era,
            forms: capabilities.forms,
            progress: Progress::of(self.params.meta, self.link),
            link: self.link.clone(),
            answers,
            seal,
        });
        Ok(Invocation { name: name.to_owned(), arguments, client })
    }
}

/// Writes the result of a call.
fn finish<T>(
    style: &ResultStyle,
    outcome: Result<T, Interrupt>,
    write: impl FnOnce(&mut ResultText, T),
) -> Outcome {
    match outcome.map_err(Interrupt::into_kind) {
        Ok(reply) => {
            let mut result = style.begin();
            write(&mut result, reply);
            Ok(result.finish().into())
        }
        Err(Kind::Failed(error) | Kind::PassedOn(error)) => Err(error),
        Err(Kind::InputRequired(needed)) => {
            let mut result = style.begin_unfinished();
            result.json("inputRequests", &needed.requests.to_string());
            result.string("requestState", &needed.state);
            result.server_info();
            Ok(result.finish().into())
        }
    }
}

fn tool_result(result: &mut ResultText, reply: ToolReply) {
    if let Some(object) = &reply.verbatim {
        return result.passed_on(object);
    }
    result.json("content", &Value::Array(reply.content).to_string());
    if let Some(structured) = reply.structured {
        result.json("structuredContent", &structured.to_string());
    }
    if reply.is_error {
        result.json("isError", "true");
    }
    result.server_info();
}

fn prompt_result(result: &mut ResultText, reply: PromptReply) {
    if let Some(object) = &reply.verbatim {
        return result.passed_on(object);
    }
    if let Some(description) = &reply.description {
        result.string("description", description);
    }
    result.json("messages", &Value::Array(reply.messages).to_string());
    result.server_info();
}
