//! The server: one loop over the editor's messages, and the state between them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use lsp_server::{Connection, ErrorCode, Message, Notification, ProtocolError, Request, Response};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionParams, CodeActionProviderCapability,
    CompletionOptions, CompletionParams, DidChangeTextDocumentParams, DidChangeWatchedFilesParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams,
    DocumentLinkOptions, DocumentLinkParams, DocumentSymbolParams, DocumentSymbolResponse,
    FileOperationFilter, FileOperationPattern, FileOperationRegistrationOptions,
    GotoDefinitionParams, GotoDefinitionResponse, HoverParams, HoverProviderCapability,
    InitializeResult, OneOf, PrepareRenameResponse, PublishDiagnosticsParams, RenameFilesParams,
    RenameOptions, RenameParams, SaveOptions, ServerCapabilities, ServerInfo,
    TextDocumentPositionParams, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, Uri, WorkDoneProgressOptions,
    WorkspaceEdit, WorkspaceFileOperationsServerCapabilities, WorkspaceServerCapabilities,
    notification::{
        DidChangeTextDocument, DidChangeWatchedFiles, DidCloseTextDocument, DidOpenTextDocument,
        DidSaveTextDocument, Notification as _, PublishDiagnostics,
    },
    request::{
        CodeActionRequest, Completion, DocumentLinkRequest, DocumentSymbolRequest, GotoDefinition,
        HoverRequest, PrepareRenameRequest, Rename, Request as _, WillRenameFiles,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use skillwire_core::{Finding, RelPath};

use crate::{
    actions, completion, diagnostics, file_uri, hover, navigation, rename,
    skill_folder::{FileCache, SkillFiles, skill_folder},
    symbols,
};

/// How long the editor must be silent before a changed skill is checked.
const CHECK_AFTER: Duration = Duration::from_millis(120);

/// The largest document that is kept; a skill may not have more bytes than that.
const MOST_TEXT: usize = 16 * 1024 * 1024;

/// The most documents that are kept open.
const MOST_DOCUMENTS: usize = 1_024;

/// Decides which findings an author has silenced; it is given the skill's folder and the finding's file.
pub type SilenceCheck = Box<dyn Fn(&Path, &Path, &Finding) -> bool>;

/// How the server works.
#[non_exhaustive]
#[derive(Default)]
pub struct EditorOptions {
    is_silenced: Option<SilenceCheck>,
    version: Option<String>,
}

impl EditorOptions {
    /// Leaves out findings that the author has silenced.
    #[must_use]
    pub fn silenced_by(mut self, is_silenced: SilenceCheck) -> Self {
        self.is_silenced = Some(is_silenced);
        self
    }

    /// Sets the version that editors show.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }
}

impl fmt::Debug for EditorOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EditorOptions").field("version", &self.version).finish_non_exhaustive()
    }
}

/// The connection to the editor failed.
#[derive(Debug, thiserror::Error)]
pub enum EditorError {
    /// The editor does not follow the protocol.
    #[error("The editor broke the Language Server Protocol")]
    Protocol(#[source] ProtocolError),
    /// The connection ended before the editor introduced itself.
    #[error("The connection ended before an editor sent `initialize`.")]
    NotInitialized,
    /// The editor closed the connection in the middle of an exchange.
    #[error("The editor closed the connection without saying so.")]
    Closed,
    /// A message could not be written or read as JSON.
    #[error("A message is not what the Language Server Protocol says.")]
    Json(#[from] serde_json::Error),
}

impl From<ProtocolError> for EditorError {
    fn from(error: ProtocolError) -> Self {
        if error.channel_is_disconnected() { Self::Closed } else { Self::Protocol(error) }
    }
}

/// Serves one editor until it asks the server to shut down.
#[tracing::instrument(skip_all)]
pub fn serve(connection: &Connection, options: &EditorOptions) -> Result<(), EditorError> {
    let (id, _) = connection.initialize_start().map_err(|error| match error.into() {
        EditorError::Closed => EditorError::NotInitialized,
        other => other,
    })?;
    let result = InitializeResult {
        capabilities: capabilities(),
        server_info: Some(ServerInfo {
            name: "skillwire".to_owned(),
            version: options.version.clone(),
        }),
    };
    connection.initialize_finish(id, serde_json::to_value(result)?)?;
    EditorSession::new(connection, options).run()
}

fn capabilities() -> ServerCapabilities {
    let markdown = FileOperationRegistrationOptions {
        filters: vec![FileOperationFilter {
            scheme: Some("file".to_owned()),
            pattern: FileOperationPattern {
                glob: "**/*".to_owned(),
                ..FileOperationPattern::default()
            },
        }],
    };
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::FULL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions::default())),
            ..TextDocumentSyncOptions::default()
        })),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, CodeActionKind::SOURCE_FIX_ALL]),
            ..CodeActionOptions::default()
        })),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec!["(".to_owned(), "/".to_owned()]),
            ..CompletionOptions::default()
        }),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        document_link_provider: Some(DocumentLinkOptions {
            resolve_provider: Some(false),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        }),
        document_symbol_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        workspace: Some(WorkspaceServerCapabilities {
            file_operations: Some(WorkspaceFileOperationsServerCapabilities {
                will_rename: Some(markdown),
                ..WorkspaceFileOperationsServerCapabilities::default()
            }),
            ..WorkspaceServerCapabilities::default()
        }),
        ..ServerCapabilities::default()
    }
}

/// Why a request has no result.
struct RequestRefused {
    code: ErrorCode,
    message: String,
}

impl From<serde_json::Error> for RequestRefused {
    fn from(error: serde_json::Error) -> Self {
        Self { code: ErrorCode::InvalidParams, message: error.to_string() }
    }
}

/// A document of a skill that a request is about.
struct Asked {
    skill: SkillFiles,
    file: RelPath,
}

struct EditorSession<'a> {
    connection: &'a Connection,
    options: &'a EditorOptions,
    open: HashMap<PathBuf, String>,
    cache: FileCache,
    /// Folders of skills that changed since they were checked.
    changed: BTreeSet<PathBuf>,
    /// The files of each skill for which the editor shows findings.
    shown: BTreeMap<PathBuf, BTreeSet<String>>,
}

impl<'a> EditorSession<'a> {
    fn new(connection: &'a Connection, options: &'a EditorOptions) -> Self {
        Self {
            connection,
            options,
            open: HashMap::new(),
            cache: FileCache::default(),
            changed: BTreeSet::new(),
            shown: BTreeMap::new(),
        }
    }

    fn run(mut self) -> Result<(), EditorError> {
        loop {
            let message = if self.changed.is_empty() {
                self.connection.receiver.recv().map_err(|_| EditorError::Closed)?
            } else {
                match self.connection.receiver.recv_timeout(CHECK_AFTER) {
                    Ok(message) => message,
                    Err(error) if error.is_timeout() => {
                        self.check_changed()?;
                        continue;
                    }
                    Err(_) => return Err(EditorError::Closed),
                }
            };
            match message {
                Message::Request(request) => {
                    if self.connection.handle_shutdown(&request)? {
                        return Ok(());
                    }
                    let answer = self.answer(request);
                    self.send(Message::Response(answer))?;
                }
                Message::Notification(notification) => self.note(notification),
                // The server asks the editor nothing.
                Message::Response(_) => {}
            }
        }
    }

    fn send(&self, message: Message) -> Result<(), EditorError> {
        self.connection.sender.send(message).map_err(|_| EditorError::Closed)
    }

    /// Takes in what the editor did. A notification has no answer, so one that cannot be read is
    /// logged only.
    fn note(&mut self, notification: Notification) {
        let method = notification.method.clone();
        if let Err(error) = self.take_in(notification) {
            tracing::warn!(method, %error, "the editor sent a notification that cannot be read");
        }
    }

    fn take_in(&mut self, notification: Notification) -> Result<(), serde_json::Error> {
        match notification.method.as_str() {
            DidOpenTextDocument::METHOD => {
                let opened: DidOpenTextDocumentParams =
                    serde_json::from_value(notification.params)?;
                self.set_text(&opened.text_document.uri, Some(opened.text_document.text));
            }
            DidChangeTextDocument::METHOD => {
                let changed: DidChangeTextDocumentParams =
                    serde_json::from_value(notification.params)?;
                // Each change has the whole text, so the last one counts.
                if let Some(last) = changed.content_changes.into_iter().next_back() {
                    self.set_text(&changed.text_document.uri, Some(last.text));
                }
            }
            DidCloseTextDocument::METHOD => {
                let closed: DidCloseTextDocumentParams =
                    serde_json::from_value(notification.params)?;
                self.set_text(&closed.text_document.uri, None);
            }
            DidSaveTextDocument::METHOD => {
                let saved: DidSaveTextDocumentParams = serde_json::from_value(notification.params)?;
                self.mark_changed(&saved.text_document.uri);
            }
            DidChangeWatchedFiles::METHOD => {
                let files: DidChangeWatchedFilesParams =
                    serde_json::from_value(notification.params)?;
                for change in &files.changes {
                    self.mark_changed(&change.uri);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn set_text(&mut self, uri: &Uri, text: Option<String>) {
        let Some(path) = file_uri::to_path(uri) else { return };
        match text {
            Some(text) if text.len() <= MOST_TEXT && self.open.len() < MOST_DOCUMENTS => {
                self.open.insert(path, text);
            }
            _ => {
                self.open.remove(&path);
            }
        }
        self.mark_changed(uri);
    }

    fn mark_changed(&mut self, uri: &Uri) {
        if let Some(folder) = file_uri::to_path(uri).as_deref().and_then(skill_folder) {
            self.changed.insert(folder);
        }
    }

    fn is_in_use(&self, folder: &Path) -> bool {
        self.open.keys().any(|path| path.starts_with(folder))
    }

    fn check_changed(&mut self) -> Result<(), EditorError> {
        for folder in std::mem::take(&mut self.changed) {
            let mut files = BTreeMap::new();
            if self.is_in_use(&folder)
                && let Ok(skill) = SkillFiles::read(&folder, &self.open, &mut self.cache)
            {
                files = diagnostics::by_file(&skill, &self.findings(&skill));
            }
            let now: BTreeSet<String> = files.keys().cloned().collect();
            let before = self.shown.insert(folder.clone(), now).unwrap_or_default();
            // Findings stay in the editor until they are replaced, also those of files without any now.
            for file in before {
                files.entry(file).or_default();
            }
            for (file, diagnostics) in files {
                if let Some(uri) = file_uri::from_path(&folder.join(&file)) {
                    let published = PublishDiagnosticsParams { uri, diagnostics, version: None };
                    let method = PublishDiagnostics::METHOD.to_owned();
                    self.send(Message::Notification(Notification::new(method, published)))?;
                }
            }
            self.shown.retain(|_, files| !files.is_empty());
        }
        Ok(())
    }

    /// The findings of a skill that the author did not silence.
    fn findings(&self, skill: &SkillFiles) -> Vec<Finding> {
        let mut findings = skill.findings();
        if let Some(is_silenced) = &self.options.is_silenced {
            findings
                .retain(|finding| !is_silenced(&skill.folder, &skill.path(&finding.file), finding));
        }
        findings
    }

    fn answer(&mut self, request: Request) -> Response {
        let Request { id, method, params } = request;
        match self.result(&method, params) {
            Ok(result) => Response::new_ok(id, result),
            Err(refused) => Response::new_err(id, refused.code as i32, refused.message),
        }
    }

    fn result(&mut self, method: &str, params: Value) -> Result<Value, RequestRefused> {
        match method {
            CodeActionRequest::METHOD => {
                let asked: CodeActionParams = parse(params)?;
                let uri = &asked.text_document.uri;
                self.about(uri, |session, at| {
                    let findings = session.findings(&at.skill);
                    let file = at.file.as_str();
                    actions::quick_fixes(&at.skill, &findings, file, uri, asked.range)
                })
            }
            Completion::METHOD => {
                let asked: CompletionParams = parse(params)?;
                let TextDocumentPositionParams { text_document, position } =
                    asked.text_document_position;
                self.about(&text_document.uri, |_, at| {
                    completion::complete(&at.skill, at.file.as_str(), position)
                })
            }
            HoverRequest::METHOD => {
                let asked: HoverParams = parse(params)?;
                let TextDocumentPositionParams { text_document, position } =
                    asked.text_document_position_params;
                self.about(&text_document.uri, |session, at| {
                    let findings = session.findings(&at.skill);
                    hover::hover(&at.skill, &findings, at.file.as_str(), position)
                })
            }
            GotoDefinition::METHOD => {
                let asked: GotoDefinitionParams = parse(params)?;
                let TextDocumentPositionParams { text_document, position } =
                    asked.text_document_position_params;
                self.about(&text_document.uri, |_, at| {
                    navigation::definition(&at.skill, at.file.as_str(), position)
                        .map(GotoDefinitionResponse::Scalar)
                })
            }
            DocumentLinkRequest::METHOD => {
                let asked: DocumentLinkParams = parse(params)?;
                self.about(&asked.text_document.uri, |_, at| {
                    navigation::document_links(&at.skill, at.file.as_str())
                })
            }
            DocumentSymbolRequest::METHOD => {
                let asked: DocumentSymbolParams = parse(params)?;
                self.about(&asked.text_document.uri, |_, at| {
                    DocumentSymbolResponse::Nested(symbols::outline(&at.skill, at.file.as_str()))
                })
            }
            PrepareRenameRequest::METHOD => {
                let asked: TextDocumentPositionParams = parse(params)?;
                self.about(&asked.text_document.uri, |_, at| {
                    let (link, range) =
                        navigation::link_at(&at.skill, at.file.as_str(), asked.position)?;
                    let placeholder = link.to.file_name().to_owned();
                    Some(PrepareRenameResponse::RangeWithPlaceholder { range, placeholder })
                })
            }
            Rename::METHOD => {
                let asked: RenameParams = parse(params)?;
                self.rename(&asked)
            }
            WillRenameFiles::METHOD => {
                let asked: RenameFilesParams = parse(params)?;
                serde_json::to_value(self.links_after_moves(&asked)).map_err(Into::into)
            }
            _ => Err(RequestRefused {
                code: ErrorCode::MethodNotFound,
                message: format!("The server has no method `{method}`."),
            }),
        }
    }

    /// Answers about a document of a skill; a document of no skill has nothing to answer.
    fn about<T: Serialize>(
        &mut self,
        uri: &Uri,
        answer: impl FnOnce(&Self, &Asked) -> T,
    ) -> Result<Value, RequestRefused> {
        match self.asked(uri) {
            Some(asked) => Ok(serde_json::to_value(answer(self, &asked))?),
            None => Ok(Value::Null),
        }
    }

    fn asked(&mut self, uri: &Uri) -> Option<Asked> {
        let path = file_uri::to_path(uri)?;
        let folder = skill_folder(&path)?;
        let skill = SkillFiles::read(&folder, &self.open, &mut self.cache).ok()?;
        let file = skill.relative(&path)?;
        Some(Asked { skill, file })
    }

    fn rename(&mut self, asked: &RenameParams) -> Result<Value, RequestRefused> {
        let TextDocumentPositionParams { text_document, position } = &asked.text_document_position;
        let found = self.asked(&text_document.uri).and_then(|at| {
            let (link, _) = navigation::link_at(&at.skill, at.file.as_str(), *position)?;
            Some((at, link))
        });
        let Some((at, link)) = found else {
            let message = "There is no link to a file of the skill here.".to_owned();
            return Err(RequestRefused { code: ErrorCode::RequestFailed, message });
        };
        let new = rename::new_path(&at.skill, &link.to, &asked.new_name).map_err(|refused| {
            RequestRefused { code: ErrorCode::RequestFailed, message: refused.to_string() }
        })?;
        Ok(serde_json::to_value(rename::edits(&at.skill, &link.to, &new, true))?)
    }

    /// The edits of links for moves that the editor is about to make itself.
    fn links_after_moves(&mut self, asked: &RenameFilesParams) -> Option<WorkspaceEdit> {
        // Several moves at once could touch the same links; only the first is followed.
        let moved = asked.files.first()?;
        let at = self.asked(&moved.old_uri.parse().ok()?)?;
        let new = at.skill.relative(&file_uri::to_path(&moved.new_uri.parse().ok()?)?)?;
        Some(rename::edits(&at.skill, &at.file, &new, false))
    }
}

fn parse<T: DeserializeOwned>(params: Value) -> Result<T, RequestRefused> {
    Ok(serde_json::from_value(params)?)
}
