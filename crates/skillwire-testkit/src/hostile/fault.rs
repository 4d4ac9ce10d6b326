//! The ways in which the server misbehaves on demand.

use serde_json::Value;

/// One way to misbehave.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Does not know `server/discover`.
    LegacyOnly,
    /// Never answers `server/discover`.
    LegacySilent,
    /// Does not know `initialize`.
    ModernOnly,
    /// Lists these versions.
    SupportedVersions(Vec<String>),
    /// Answers over HTTP with events instead of JSON.
    AnswersWithEvents,
    /// Opens no stream of events for legacy sessions.
    NoLegacyStream,
    /// Does not declare the extension.
    Undeclared,
    /// Declares the extension with this value.
    Declared(Value),
    /// Declares exactly these capabilities.
    Capabilities(Value),
    /// Declares `directoryRead` with this value.
    DirectoryRead(Value),
    /// Gives this name as its own.
    ServerName(String),
    /// Gives these instructions.
    Instructions(Value),
    /// Lists this many entries on a page.
    PageSize(usize),
    /// Every page has the same `nextCursor`.
    SameCursorForever,
    /// Every page has a fresh cursor and one new entry.
    EndlessPages,
    /// The first page has this `nextCursor`; the second page is honest.
    FirstCursor(Value),
    /// The listing is empty although the server has skills.
    ListsNothing,
    /// The listing leaves out this skill.
    Unlisted(String),
    /// The listing also has this entry, on its last page.
    AlsoListed(Value),
    /// Only requests with this bearer token see the skill.
    OnlyFor {
        /// The URI of the skill.
        uri: String,
        /// The token.
        token: String,
    },
    /// The skill's entry is changed by a merge patch, in which null removes a member.
    Entry {
        /// The URI of the skill.
        uri: String,
        /// The patch.
        patch: Value,
    },
    /// The skill's entry is exactly this JSON text, which may repeat keys or nest without end.
    EntryText {
        /// The URI of the skill.
        uri: String,
        /// The text.
        text: String,
    },
    /// `skills/get` for the skill answers with this entry.
    Gets {
        /// The URI of the skill.
        uri: String,
        /// The entry.
        entry: Value,
    },
    /// `skills/get` answers without the `skill` around the entry.
    GetsInline,
    /// Reading the file gives these bytes; its entry does not say so.
    ReadBytes {
        /// The URI of the file.
        uri: String,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Reading the file gives this whole result.
    ReadResult {
        /// The URI of the file.
        uri: String,
        /// The result.
        result: Value,
    },
    /// Reading the file gives an error of this code.
    ReadError {
        /// The URI of the file.
        uri: String,
        /// The code.
        code: i64,
    },
    /// The file has other bytes on every read, and the entry another digest in every answer.
    NeverConsistent {
        /// The URI of the file.
        uri: String,
    },
    /// The directory has these children.
    Children {
        /// The URI of the directory.
        uri: String,
        /// Its children.
        children: Vec<Value>,
    },
    /// Results of the method have this member with this value.
    Member {
        /// The method.
        method: String,
        /// The member.
        name: String,
        /// The value.
        value: Value,
    },
    /// Results of the method lack this member.
    WithoutMember {
        /// The method.
        method: String,
        /// The member.
        name: String,
    },
    /// Writes these bytes and a line end to the pipe before each answer.
    NoiseBefore(Vec<u8>),
}

impl Fault {
    /// Results of the method have this `resultType`.
    pub fn result_type(method: &str, value: impl Into<Value>) -> Self {
        Self::member(method, "resultType", value)
    }

    /// Results of the method have this member with this value.
    pub fn member(method: &str, name: &str, value: impl Into<Value>) -> Self {
        Self::Member { method: method.to_owned(), name: name.to_owned(), value: value.into() }
    }

    /// The skill's entry is changed by a merge patch.
    pub fn entry(uri: &str, patch: Value) -> Self {
        Self::Entry { uri: uri.to_owned(), patch }
    }

    /// Reading the file gives these bytes.
    pub fn read_bytes(uri: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self::ReadBytes { uri: uri.to_owned(), bytes: bytes.into() }
    }
}
