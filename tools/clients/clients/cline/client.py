"""Cline's command line, run without a terminal."""

from harness.client import Client
from harness.world import SERVER, Entry


class Driver(Client):
    title = "Cline"
    package = "cline"
    limits = {"prompt": "Cline has no commands for prompts of MCP servers."}

    def configure(self, entry: Entry, model: str) -> None:
        server = {
            "type": "stdio",
            "command": entry.command,
            "args": entry.args,
            "env": entry.env,
            "disabled": False,
        }
        settings = {"mcpServers": {SERVER: server}}
        self.world.write(".cline/data/settings/cline_mcp_settings.json", settings)
        self.model = model

    def command(self, words: str) -> list[str]:
        program = next(self.modules.glob("@cline/cli-linux-*/bin/cline*"))
        return [str(program), "--yolo", words]
