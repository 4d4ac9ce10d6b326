"""Continue's command line, run with `cn -p`."""

import json

from harness.client import Client
from harness.world import SERVER, Entry


class Driver(Client):
    title = "Continue"
    package = "@continuedev/cli"
    limits = {"prompt": "`cn` has no commands for prompts of MCP servers."}

    def configure(self, entry: Entry, model: str) -> None:
        config = {
            "name": "scripted",
            "version": "1.0.0",
            "schema": "v1",
            "models": [
                {
                    "name": "scripted",
                    "provider": "openai",
                    "model": "gpt-4o",
                    "apiBase": model,
                    "apiKey": "scripted",
                    "roles": ["chat"],
                    "capabilities": ["tool_use"],
                }
            ],
            "mcpServers": [
                {
                    "name": SERVER,
                    "type": "stdio",
                    "command": entry.command,
                    "args": entry.args,
                    "env": entry.env,
                }
            ],
        }
        # JSON is YAML too.
        self.world.write(".continue/config.yaml", json.dumps(config, indent=2))

    def variables(self, model: str) -> dict[str, str]:
        return {
            "CONTINUE_TELEMETRY_ENABLED": "0",
            "CONTINUE_CLI_DISABLE_COMMIT_SIGNATURE": "1",
            "CONTINUE_GLOBAL_DIR": str(self.world.home / ".continue"),
        }

    def command(self, words: str) -> list[str]:
        config = str(self.world.home / ".continue" / "config.yaml")
        program = self.node_script("@continuedev/cli/dist/cn.js")
        return [*program, "--config", config, "--allow", f"{SERVER}*", "--auto", "-p", words]
