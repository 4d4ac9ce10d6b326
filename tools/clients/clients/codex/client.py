"""Codex, run with `codex exec`."""

import json

from harness.client import Client
from harness.world import SERVER, Entry


class Driver(Client):
    title = "Codex"
    package = "@openai/codex"
    limits = {"prompt": "Codex has no commands for prompts of MCP servers."}

    def configure(self, entry: Entry, model: str) -> None:
        environment = ", ".join(f"{name} = {json.dumps(value)}" for name, value in entry.env.items())
        self.world.write(
            ".codex/config.toml",
            f"""model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{model}"
wire_api = "responses"
env_key = "SCRIPTED_KEY"

[analytics]
enabled = false

[mcp_servers.{SERVER}]
command = {json.dumps(entry.command)}
args = {json.dumps(entry.args)}
env = {{ {environment} }}
""",
        )

    def variables(self, model: str) -> dict[str, str]:
        return {"SCRIPTED_KEY": "scripted", "CODEX_HOME": str(self.world.home / ".codex")}

    def command(self, words: str) -> list[str]:
        program = next(self.modules.glob("@openai/codex-linux-*/vendor/*/bin/codex"), None)
        program = program or next(self.modules.glob("@openai/codex-linux-*/vendor/*/codex/codex"))
        return [str(program), "exec", "--skip-git-repo-check", words]
