//! An editor with one connection to a server.

use std::{
    fs,
    path::{Path, PathBuf},
    thread::JoinHandle,
    time::Duration,
};

use lsp_server::{Connection, Message, Notification, Request, Response};
use serde_json::{Value, json};
use skillwire_lsp::{EditorError, EditorOptions, serve};
use tempfile::TempDir;

/// The most time that one answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Editor {
    client: Connection,
    server: Option<JoinHandle<Result<(), EditorError>>>,
    folder: TempDir,
    next_id: i32,
}

impl Editor {
    /// An editor in a workspace with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, EditorOptions::default)
    }

    pub(crate) fn with(files: &[(&str, &str)], options: fn() -> EditorOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let (server, client) = Connection::memory();
        let server = std::thread::spawn(move || serve(&server, &options()));
        let mut editor = Self { client, server: Some(server), folder, next_id: 0 };
        let answer = editor.ask("initialize", json!({ "capabilities": {} }));
        assert_eq!(answer["serverInfo"]["name"], "skillwire");
        editor.tell("initialized", json!({}));
        editor
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    pub(crate) fn uri(&self, file: &str) -> String {
        format!("file://{}", self.path(file).display())
    }

    /// Opens a file with the text on disk.
    pub(crate) fn open(&self, file: &str) {
        let text = fs::read_to_string(self.path(file)).unwrap();
        let document =
            json!({ "uri": self.uri(file), "languageId": "markdown", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Replaces the text of an open file, without saving it.
    pub(crate) fn change(&self, file: &str, text: &str) {
        let document = json!({ "uri": self.uri(file), "version": 2 });
        let changes = json!([{ "text": text }]);
        self.tell(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": changes }),
        );
    }

    pub(crate) fn close(&self, file: &str) {
        self.tell("textDocument/didClose", json!({ "textDocument": { "uri": self.uri(file) } }));
    }

    /// A request about a place in a file.
    pub(crate) fn ask_at(&mut self, method: &str, file: &str, line: u32, character: u32) -> Value {
        self.ask(method, self.place(file, line, character))
    }

    pub(crate) fn place(&self, file: &str, line: u32, character: u32) -> Value {
        let position = json!({ "line": line, "character": character });
        json!({ "textDocument": { "uri": self.uri(file) }, "position": position })
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.response(method, params);
        answer.response_result.unwrap()
    }

    /// The sentence with which the server refuses a request.
    pub(crate) fn refused(&mut self, method: &str, params: Value) -> String {
        self.response(method, params).response_result.unwrap_err().message
    }

    fn response(&mut self, method: &str, params: Value) -> Response {
        self.next_id += 1;
        let request = Request::new(self.next_id.into(), method.to_owned(), params);
        self.client.sender.send(Message::Request(request)).unwrap();
        loop {
            match self.client.receiver.recv_timeout(PATIENCE).unwrap() {
                Message::Response(response) => return response,
                Message::Notification(_) => {}
                Message::Request(request) => panic!("the server asks {request:?}"),
            }
        }
    }

    pub(crate) fn tell(&self, method: &str, params: Value) {
        let notification = Notification::new(method.to_owned(), params);
        self.client.sender.send(Message::Notification(notification)).unwrap();
    }

    /// The codes of the next findings that the server publishes for a file.
    pub(crate) fn findings(&self, file: &str) -> Vec<Value> {
        let uri = self.uri(file);
        loop {
            let message = self.client.receiver.recv_timeout(PATIENCE).unwrap();
            if let Message::Notification(Notification { method, params }) = message
                && method == "textDocument/publishDiagnostics"
                && params["uri"] == uri
            {
                return params["diagnostics"].as_array().unwrap().clone();
            }
        }
    }

    pub(crate) fn codes(&self, file: &str) -> Vec<String> {
        let code = |finding: &Value| finding["code"].as_str().unwrap().to_owned();
        self.findings(file).iter().map(code).collect()
    }

    /// Ends the session as editors do.
    pub(crate) fn quit(mut self) -> Result<(), EditorError> {
        self.ask("shutdown", json!(null));
        self.tell("exit", json!(null));
        self.server.take().unwrap().join().unwrap()
    }

    /// Closes the connection without a word.
    pub(crate) fn vanish(mut self) -> Result<(), EditorError> {
        let server = self.server.take().unwrap();
        let Self { client, .. } = self;
        drop(client);
        server.join().unwrap()
    }
}

/// A text after the edits that a result holds for a file.
pub(crate) fn edited(text: &str, result: &Value, uri: &str) -> String {
    let mut edits: Vec<&Value> = Vec::new();
    for change in result["documentChanges"].as_array().unwrap() {
        if change["textDocument"]["uri"] == uri {
            edits.extend(change["edits"].as_array().unwrap());
        }
    }
    let offset = |place: &Value| {
        let line = usize::try_from(place["line"].as_u64().unwrap()).unwrap();
        let column = usize::try_from(place["character"].as_u64().unwrap()).unwrap();
        text.split_inclusive('\n').take(line).map(str::len).sum::<usize>() + column
    };
    let mut edited = text.to_owned();
    edits.sort_by_key(|edit| std::cmp::Reverse(offset(&edit["range"]["start"])));
    for edit in edits {
        let range = offset(&edit["range"]["start"])..offset(&edit["range"]["end"]);
        edited.replace_range(range, edit["newText"].as_str().unwrap());
    }
    edited
}

/// Whether a path is named by a result as the new name of a file.
pub(crate) fn renames_to(result: &Value, path: &Path) -> bool {
    let new = format!("file://{}", path.display());
    let changes = result["documentChanges"].as_array().unwrap();
    changes.iter().any(|change| change["kind"] == "rename" && change["newUri"] == new.as_str())
}
