//! Method names.

/// Opens a legacy session.
pub const INITIALIZE: &str = "initialize";
/// Tells that a legacy session is open.
pub const INITIALIZED: &str = "notifications/initialized";
/// Asks whether the peer is alive.
pub const PING: &str = "ping";
/// Describes the server.
pub const DISCOVER: &str = "server/discover";
/// Lists skills.
pub const SKILLS_LIST: &str = "skills/list";
/// Returns one skill's entry.
pub const SKILLS_GET: &str = "skills/get";
/// Returns one skill's instructions by its name, in a dialect older than the extension.
pub const SKILLS_READ: &str = "skills/read";
/// Returns one file of a skill by its name, in the same dialect.
pub const SKILLS_READ_REFERENCE: &str = "skills/read_reference";
/// Runs a script of a skill, in the same dialect.
pub const SKILLS_EXECUTE: &str = "skills/execute";
/// Lists resources.
pub const RESOURCES_LIST: &str = "resources/list";
/// Lists resource templates.
pub const RESOURCES_TEMPLATES_LIST: &str = "resources/templates/list";
/// Reads one resource.
pub const RESOURCES_READ: &str = "resources/read";
/// Lists the children of a directory resource.
pub const DIRECTORY_READ: &str = "resources/directory/read";
/// Subscribes to one resource, on the legacy era.
pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
/// Ends a legacy subscription.
pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
/// Lists tools.
pub const TOOLS_LIST: &str = "tools/list";
/// Lists prompts.
pub const PROMPTS_LIST: &str = "prompts/list";
/// Calls a tool.
pub const TOOLS_CALL: &str = "tools/call";
/// Returns one prompt.
pub const PROMPTS_GET: &str = "prompts/get";
/// Completes a template argument.
pub const COMPLETE: &str = "completion/complete";
/// Opens a stream of notifications.
pub const LISTEN: &str = "subscriptions/listen";
/// Cancels a request.
pub const CANCELLED: &str = "notifications/cancelled";
/// Acknowledges a subscription.
pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// Tells that the list of resources changed.
pub const RESOURCES_LIST_CHANGED: &str = "notifications/resources/list_changed";
/// Tells that one resource changed.
pub const RESOURCES_UPDATED: &str = "notifications/resources/updated";
/// Tells that the list of skills changed, in dialects older than the extension.
pub const SKILLS_LIST_CHANGED: &str = "notifications/skills/list_changed";
/// Tells that the list of tools changed.
pub const TOOLS_LIST_CHANGED: &str = "notifications/tools/list_changed";
/// Tells that the list of prompts changed.
pub const PROMPTS_LIST_CHANGED: &str = "notifications/prompts/list_changed";
/// Tells how far a request has come.
pub const PROGRESS: &str = "notifications/progress";
/// Shows the client's user a form.
pub const ELICIT: &str = "elicitation/create";
