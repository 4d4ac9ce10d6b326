"""Cline's command line, run without a terminal."""

from harness.client import Client
from harness.world import SERVER, Entry


class Driver(Client):
    title = "Cline"
    package = "@cline/cli-linux-x64"
    limits = {"prompt": "Cline has no commands for prompts of MCP servers."}

    def configure(self, entry: Entry, model: str) -> None:
        transport = {"type": "stdio", "command": entry.command, "args": entry.args, "env": entry.env}
        settings = {"mcpServers": {SERVER: {"transport": transport}}}
        self.world.write(".cline/data/settings/cline_mcp_settings.json", settings)
        provider = {
            "provider": "openai-compatible",
            "apiKey": "scripted",
            "model": "scripted",
            "baseUrl": model,
        }
        self.world.write(
            ".cline/data/settings/providers.json",
            {
                "version": 1,
                "lastUsedProvider": "openai-compatible",
                "modes": {},
                "providers": {
                    "openai-compatible": {
                        "settings": provider,
                        "updatedAt": "2026-01-01T00:00:00.000Z",
                        "tokenSource": "manual",
                    }
                },
            },
        )

    def variables(self, model: str) -> dict[str, str]:
        return {"CLINE_TELEMETRY_DISABLED": "1", "CLINE_NO_AUTO_UPDATE": "1"}

    def command(self, words: str) -> list[str]:
        program = next(self.modules.glob("@cline/cli-linux-*/bin/cline*"))
        return [str(program), words]
