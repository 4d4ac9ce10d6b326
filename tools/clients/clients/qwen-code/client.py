"""Qwen Code, run with `qwen -p`."""

from harness.client import Client
from harness.world import SERVER, Entry


class Driver(Client):
    title = "Qwen Code"
    package = "@qwen-code/qwen-code"
    slash_commands = True
    searches_tools = True

    def configure(self, entry: Entry, model: str) -> None:
        # Without `alwaysLoadTools` the model has to search for the tools first.
        server = {"command": entry.command, "args": entry.args, "env": entry.env}
        server |= {"trust": True, "alwaysLoadTools": self.always_load}
        self.world.write(
            ".qwen/settings.json",
            {
                "security": {"auth": {"selectedType": "openai"}},
                "privacy": {"usageStatisticsEnabled": False},
                "telemetry": {"enabled": False},
                "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
                "mcpServers": {SERVER: server},
            },
        )

    def variables(self, model: str) -> dict[str, str]:
        return {"OPENAI_API_KEY": "scripted", "OPENAI_BASE_URL": model, "OPENAI_MODEL": "scripted"}

    def command(self, words: str) -> list[str]:
        return [*self.node_script("@qwen-code/qwen-code/cli-entry.js"), "-p", words]

    def slash(self, handle: str, words: str) -> list[str]:
        return self.command(f"/{handle} {words}")
