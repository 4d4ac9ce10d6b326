"""opencode, run with `opencode run`."""

import re

from harness.client import Client
from harness.world import SERVER, Entry


class Driver(Client):
    title = "opencode"
    package = "opencode-linux-x64"
    slash_commands = True

    def configure(self, entry: Entry, model: str) -> None:
        server = {
            "type": "local",
            "command": entry.line,
            "environment": entry.env,
            "enabled": True,
        }
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "scripted",
            "options": {"baseURL": model, "apiKey": "scripted"},
            "models": {"scripted": {"name": "scripted", "tool_call": True}},
        }
        self.world.write(
            ".config/opencode/opencode.json",
            {
                "model": "scripted/scripted",
                "small_model": "scripted/scripted",
                "autoupdate": False,
                "share": "disabled",
                "enabled_providers": ["scripted"],
                "provider": {"scripted": provider},
                "mcp": {SERVER: server},
            },
        )

    def variables(self, model: str) -> dict[str, str]:
        return {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        }

    def command(self, words: str) -> list[str]:
        return [*self.program(), "run", words]

    def slash(self, handle: str, words: str) -> list[str]:
        name = re.sub(r"[^\w-]", "_", handle)
        return [*self.program(), "run", "--command", f"{SERVER}:{name}", words]

    def program(self) -> list[str]:
        return [str(next(self.modules.glob("opencode-linux-x64/bin/opencode*")))]
