//! Tools with which a model uses skills: schemas for the model, handlers for the agent.
//!
//! An agent passes [`ModelTools::specs`] to its model and every call to [`ModelTools::call`]; the
//! reply is text that may be shown to the model, or a refusal.

mod input;
mod spec;

use std::{collections::HashMap, fmt::Write as _, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use skillwire_trust::{Handle, Origin, Reason, Refusal, ServerLabel, Subject};

use self::input::ToolInput;
pub use self::spec::{ToolSpec, all, skill_arguments};
use crate::{
    context::{
        block::{self, FilePart},
        boundary::Boundaries,
        children::children,
        model_text::ModelText,
        text::one_line,
    },
    host::{Discovered, Host},
    window::Window,
};

/// How many skills `list_skills` returns.
const MOST_LISTED: usize = 100;

/// The tools of one conversation, which remember the windows that the model opened.
pub struct ModelTools {
    host: Host,
    boundaries: Boundaries,
    windows: Mutex<HashMap<String, OpenedWindow>>,
}

/// A window, and the handle by which the model opened it.
#[derive(Clone)]
struct OpenedWindow {
    handle: String,
    window: Arc<Window>,
}

impl ModelTools {
    /// Creates the tools for one conversation.
    pub fn new(host: Host) -> Self {
        Self { host, boundaries: Boundaries::random(), windows: Mutex::default() }
    }

    /// Returns the tools, from the listings that the host already has; none if there is no skill to
    /// load.
    pub fn specs(&self) -> Result<Vec<ToolSpec>, Refusal> {
        let known = self.host.known();
        if self.host.catalogue_items(&known)?.is_empty() {
            return Ok(Vec::new());
        }
        let mut specs = all();
        if known.registry.items().iter().any(|item| item.skill.takes_arguments())
            && let Some(load) = specs.iter_mut().find(|spec| spec.name == "load_skill")
        {
            load.input_schema["properties"]["arguments"] = skill_arguments();
        }
        Ok(specs)
    }

    /// Executes a tool call of a model. A refusal is in our own words: what a server wrote about its
    /// failure is not for the model.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Result<ModelText, Refusal> {
        // Boxed, so that the future of a caller does not hold those of every tool.
        let called = Box::pin(self.call_tool(tool, arguments)).await;
        called.map_err(|refusal| refusal.in_own_words())
    }

    async fn call_tool(&self, tool: &str, arguments: &Value) -> Result<ModelText, Refusal> {
        let input = ToolInput::new(tool, arguments)?;
        match tool {
            "list_skills" => self.list_skills(&input),
            "load_skill" => self.load_skill(&input).await,
            "unload_skill" => self.unload_skill(&input),
            "read_skill_file" => self.read_skill_file(&input).await,
            "list_skill_files" => self.list_skill_files(&input),
            "read_resource" => self.read_resource(&input).await,
            _ => Err(input.unknown_tool()),
        }
    }

    fn list_skills(&self, input: &ToolInput<'_>) -> Result<ModelText, Refusal> {
        let query = input.optional("query")?;
        let server = input.optional("server")?;
        let found = self.host.known();
        let fits = |text: &str| {
            let text = text.to_lowercase();
            query.is_none_or(|query| {
                query.split_whitespace().all(|word| text.contains(&word.to_lowercase()))
            })
        };
        let mut items = self.host.catalogue_items(&found)?;
        items.retain(|item| {
            server.is_none_or(|server| item.origin.label() == server)
                && (fits(&item.handle) || fits(&item.description))
        });
        let mut text = format!("{} skills.\n", items.len());
        for item in items.iter().take(MOST_LISTED) {
            let handle = one_line(&item.handle);
            let description = one_line(&item.description);
            let _ = writeln!(text, "- {handle} (from {}): {description}", item.origin);
        }
        if items.len() > MOST_LISTED {
            let _ = writeln!(text, "… and {} more; narrow the query.", items.len() - MOST_LISTED);
        }
        Ok(ModelText::of_host(text))
    }

    async fn load_skill(&self, input: &ToolInput<'_>) -> Result<ModelText, Refusal> {
        let name = input.required("name")?;
        let handle = Handle::parse(name)?;
        let listed = self.host.resolve(&handle).await?;
        let arguments = input.texts("arguments")?;
        let loaded = self.host.load_for_model(&listed, &arguments).await?;
        let window = loaded.window;
        let handle = handle_of(&self.host.known(), &window, &handle);
        let id = window_id(&window);
        self.lock()
            .insert(id.clone(), OpenedWindow { handle: handle.clone(), window: window.clone() });
        if loaded.repeated {
            let text =
                format!("The skill {} is loaded already, as window {id}.\n", one_line(&handle));
            return Ok(ModelText::of_host(text));
        }
        let block = window.skill_for_model(&handle, &self.boundaries)?;
        let note = format!(
            "Window: {id}. Read its files with `read_skill_file`; end with `unload_skill`.\n"
        );
        Ok(ModelText::of_host(note).followed_by(&block))
    }

    fn unload_skill(&self, input: &ToolInput<'_>) -> Result<ModelText, Refusal> {
        let opened = self.opened(input)?;
        opened.window.release();
        self.lock().remove(input.required("window")?);
        Ok(ModelText::of_host(format!("The skill {} is unloaded.\n", one_line(&opened.handle))))
    }

    async fn read_skill_file(&self, input: &ToolInput<'_>) -> Result<ModelText, Refusal> {
        let opened = self.opened(input)?;
        let path = input.required("path")?;
        let part = FilePart {
            offset: input.number("offset")?.unwrap_or_default(),
            limit: input.number("limit")?.unwrap_or(usize::MAX),
        };
        Ok(opened.window.read_for_model(path, part, &opened.handle, &self.boundaries).await?.text)
    }

    fn list_skill_files(&self, input: &ToolInput<'_>) -> Result<ModelText, Refusal> {
        let opened = self.opened(input)?;
        let path = input.optional("path")?.unwrap_or_default();
        Ok(children(&opened.handle, &opened.window.list(path)?))
    }

    async fn read_resource(&self, input: &ToolInput<'_>) -> Result<ModelText, Refusal> {
        let server = input.required("server")?;
        let label = ServerLabel::parse(server).map_err(|error| {
            Refusal::new(Reason::ServerUnknown)
                .about(server.escape_debug().to_string())
                .actual(format!("a label that {error}"))
        })?;
        let content = self.host.read_resource(&label, input.required("uri")?).await?;
        Ok(block::ordinary_resource(&content, &self.boundaries)?)
    }

    fn opened(&self, input: &ToolInput<'_>) -> Result<OpenedWindow, Refusal> {
        let id = input.required("window")?;
        let opened = self.lock().get(id).cloned();
        opened.ok_or_else(|| {
            Refusal::new(Reason::WindowClosed)
                .about(Subject::window(id.escape_debug().to_string()))
                .hint("Load the skill with `load_skill` first.")
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, OpenedWindow>> {
        self.windows.lock()
    }
}

/// Returns the qualified handle, even if the model used a bare name.
fn handle_of(found: &Discovered, window: &Window, used: &Handle) -> String {
    let items = found.registry.items().iter();
    let mut of_skill = items.filter(|item| item.skill.id() == window.skill());
    of_skill.next().map_or_else(|| used.to_string(), |item| item.handle.clone())
}

/// Returns the id by which the model names a window; it is valid in this conversation only.
fn window_id(window: &Window) -> String {
    let kind = match window.skill().origin {
        Origin::Server(_) => "s",
        Origin::Local | Origin::Project => "f",
    };
    format!("{kind}{}", window.id())
}
