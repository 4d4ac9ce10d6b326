// Starts `skillwire lsp` for Markdown. The server answers for files of skills alone.
"use strict";

const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const command = workspace.getConfiguration("skillwire").get("path", "skillwire");
  client = new LanguageClient(
    "skillwire",
    "Skillwire",
    { command, args: ["lsp"] },
    { documentSelector: [{ scheme: "file", language: "markdown" }] },
  );
  return client.start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
