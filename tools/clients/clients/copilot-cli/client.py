"""Copilot CLI, run with `copilot -p`."""

from harness.client import Client
from harness.world import SERVER, Entry


class Driver(Client):
    title = "Copilot CLI"
    package = "@github/copilot"
    limits = {"prompt": "Copilot CLI has no commands for prompts of MCP servers."}

    def configure(self, entry: Entry, model: str) -> None:
        server = {
            "type": "local",
            "command": entry.command,
            "args": entry.args,
            "env": entry.env,
            "tools": ["*"],
        }
        self.world.write(".copilot/mcp-config.json", {"mcpServers": {SERVER: server}})
        self.world.write(".copilot/config.json", {"trusted_folders": [str(self.world.work)]})

    def variables(self, model: str) -> dict[str, str]:
        return {
            "COPILOT_PROVIDER_BASE_URL": model,
            "COPILOT_PROVIDER_API_KEY": "scripted",
            "COPILOT_MODEL": "gpt-4o",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_HOME": str(self.world.home / ".copilot"),
        }

    def command(self, words: str) -> list[str]:
        program = self.node_script("@github/copilot/npm-loader.js")
        return [*program, "-p", words, "--allow-all-tools"]
