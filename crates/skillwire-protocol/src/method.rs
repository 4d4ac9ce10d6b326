//! The methods of MCP and of the Skills extension that this project knows, in one table.
//!
//! Each method has a constant for its name and a row in [`METHODS`], from which dispatch, metrics
//! and adapters learn which side sends it and in which era.

use crate::version::Era;

/// Which side sends a message, and whether the other side answers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MethodKind {
    /// A request from the client to the server.
    ClientRequest,
    /// A notification from the client to the server.
    ClientNotification,
    /// A request from the server to the client.
    ServerRequest,
    /// A notification from the server to the client.
    ServerNotification,
}

/// A row of [`METHODS`]: a method, its era and its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Method {
    /// The name on the wire.
    pub name: &'static str,
    /// The only era that has the method; none if both have it.
    pub only_in: Option<Era>,
    /// Which side sends it.
    pub kind: MethodKind,
}

impl Method {
    /// Finds a method by its name on the wire.
    pub fn find(name: &str) -> Option<&'static Self> {
        METHODS.iter().find(|method| method.name == name)
    }

    /// Tells whether the method exists in an era.
    pub fn exists_in(&self, era: Era) -> bool {
        self.only_in.is_none_or(|only| only == era)
    }
}

/// Returns the requests that clients send to servers.
pub fn client_requests() -> impl Iterator<Item = &'static Method> {
    METHODS.iter().filter(|method| method.kind == MethodKind::ClientRequest)
}

macro_rules! methods {
    (@era both) => { None };
    (@era modern) => { Some(Era::Modern) };
    (@era legacy) => { Some(Era::Legacy) };
    ($($(#[$doc:meta])* $constant:ident = $name:literal, $kind:ident, $era:ident;)*) => {
        $($(#[$doc])* pub const $constant: &str = $name;)*

        /// Every method.
        pub const METHODS: &[Method] = &[$(
            Method { name: $name, only_in: methods!(@era $era), kind: MethodKind::$kind },
        )*];
    };
}

methods! {
    /// Opens a legacy session.
    INITIALIZE = "initialize", ClientRequest, legacy;
    /// Tells that a legacy session is open.
    INITIALIZED = "notifications/initialized", ClientNotification, legacy;
    /// Asks whether the peer is alive.
    PING = "ping", ClientRequest, legacy;
    /// Describes the server.
    DISCOVER = "server/discover", ClientRequest, modern;
    /// Lists skills.
    SKILLS_LIST = "skills/list", ClientRequest, both;
    /// Returns one skill's entry.
    SKILLS_GET = "skills/get", ClientRequest, both;
    /// Returns one skill's instructions by its name, in a dialect older than the extension.
    SKILLS_READ = "skills/read", ClientRequest, both;
    /// Returns one file of a skill by its name, in the same dialect.
    SKILLS_READ_REFERENCE = "skills/read_reference", ClientRequest, both;
    /// Runs a script of a skill, in the same dialect.
    SKILLS_EXECUTE = "skills/execute", ClientRequest, both;
    /// Lists resources.
    RESOURCES_LIST = "resources/list", ClientRequest, both;
    /// Lists resource templates.
    RESOURCES_TEMPLATES_LIST = "resources/templates/list", ClientRequest, both;
    /// Reads one resource.
    RESOURCES_READ = "resources/read", ClientRequest, both;
    /// Lists the children of a directory resource.
    DIRECTORY_READ = "resources/directory/read", ClientRequest, both;
    /// Subscribes to one resource.
    RESOURCES_SUBSCRIBE = "resources/subscribe", ClientRequest, legacy;
    /// Ends such a subscription.
    RESOURCES_UNSUBSCRIBE = "resources/unsubscribe", ClientRequest, legacy;
    /// Lists tools.
    TOOLS_LIST = "tools/list", ClientRequest, both;
    /// Lists prompts.
    PROMPTS_LIST = "prompts/list", ClientRequest, both;
    /// Calls a tool.
    TOOLS_CALL = "tools/call", ClientRequest, both;
    /// Returns one prompt.
    PROMPTS_GET = "prompts/get", ClientRequest, both;
    /// Completes a template argument.
    COMPLETE = "completion/complete", ClientRequest, both;
    /// Opens a stream of notifications.
    LISTEN = "subscriptions/listen", ClientRequest, modern;
    /// Cancels a request.
    CANCELLED = "notifications/cancelled", ClientNotification, both;
    /// Acknowledges a subscription.
    ACKNOWLEDGED = "notifications/subscriptions/acknowledged", ServerNotification, modern;
    /// Tells that the list of resources changed.
    RESOURCES_LIST_CHANGED = "notifications/resources/list_changed", ServerNotification, both;
    /// Tells that one resource changed.
    RESOURCES_UPDATED = "notifications/resources/updated", ServerNotification, both;
    /// Tells that the list of skills changed, in dialects older than the extension.
    SKILLS_LIST_CHANGED = "notifications/skills/list_changed", ServerNotification, both;
    /// Tells that the list of tools changed.
    TOOLS_LIST_CHANGED = "notifications/tools/list_changed", ServerNotification, both;
    /// Tells that the list of prompts changed.
    PROMPTS_LIST_CHANGED = "notifications/prompts/list_changed", ServerNotification, both;
    /// Tells how far a request has come.
    PROGRESS = "notifications/progress", ServerNotification, both;
    /// Shows the client's user a form.
    ELICIT = "elicitation/create", ServerRequest, both;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_method_has_one_row_which_its_name_finds() {
        let names: BTreeSet<_> = METHODS.iter().map(|method| method.name).collect();
        assert_eq!(names.len(), METHODS.len());
        assert!(METHODS.iter().all(|method| Method::find(method.name) == Some(method)));
        assert_eq!(Method::find("evil/method"), None);
    }

    #[test]
    fn notifications_are_told_from_requests_by_their_names() {
        for method in METHODS {
            let notification = method.name.starts_with("notifications/");
            let kind = matches!(
                method.kind,
                MethodKind::ClientNotification | MethodKind::ServerNotification
            );
            assert_eq!(kind, notification, "{}", method.name);
        }
        assert!(client_requests().any(|method| method.name == TOOLS_CALL));
        assert!(!client_requests().any(|method| method.name == ELICIT));
    }

    #[test]
    fn sessions_are_legacy_and_streams_of_notifications_are_modern() {
        let eras = |name| {
            let method = Method::find(name).unwrap();
            [method.exists_in(Era::Modern), method.exists_in(Era::Legacy)]
        };
        assert_eq!(eras(INITIALIZE), [false, true]);
        assert_eq!(eras(RESOURCES_SUBSCRIBE), [false, true]);
        assert_eq!(eras(LISTEN), [true, false]);
        assert_eq!(eras(DISCOVER), [true, false]);
        assert_eq!(eras(SKILLS_LIST), [true, true]);
    }
}
