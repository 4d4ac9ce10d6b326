"""Gemini CLI, run with `gemini -p`."""

from harness.client import Client
from harness.world import SERVER, Entry


class Driver(Client):
    title = "Gemini CLI"
    package = "@google/gemini-cli"
    slash_commands = True
    model_path = ""

    def configure(self, entry: Entry, model: str) -> None:
        server = {"command": entry.command, "args": entry.args, "env": entry.env, "trust": True}
        self.world.write(
            ".gemini/settings.json",
            {
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "privacy": {"usageStatisticsEnabled": False},
                "telemetry": {"enabled": False},
                "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False},
                "mcpServers": {SERVER: server},
            },
        )

    def variables(self, model: str) -> dict[str, str]:
        return {
            "GEMINI_API_KEY": "scripted",
            "GOOGLE_GEMINI_BASE_URL": model,
            "GEMINI_CLI_NO_RELAUNCH": "true",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def command(self, words: str) -> list[str]:
        return [*self.node_script("@google/gemini-cli/bundle/gemini.js"), "-m", "gemini-2.5-pro", "-p", words]

    def slash(self, handle: str, words: str) -> list[str]:
        # Gemini CLI gives bare words to required arguments only.
        return self.command(f'/{handle} --request="{words}"')
