"""fast-agent, run with `fast-agent go`. It knows the Skills extension by itself."""

import json

from harness.client import Client
from harness.world import SERVER, Entry


class Driver(Client):
    title = "fast-agent"
    package = "fast-agent-mcp"
    limits = {"prompt": "fast-agent has prompts of servers in its interactive mode only."}

    def configure(self, entry: Entry, model: str) -> None:
        server = {"command": entry.command, "args": entry.args, "env": entry.env}
        config = {
            "default_model": "generic.scripted",
            "generic": {"api_key": "scripted", "base_url": model},
            "mcp": {"servers": {SERVER: server}},
            "logger": {"type": "none", "progress_display": False, "show_chat": False},
        }
        # JSON is YAML too.
        file = self.world.work / "fast-agent.yaml"
        file.write_text(json.dumps(config, indent=2), encoding="utf-8")

    def command(self, words: str) -> list[str]:
        program = str(self.folder / ".venv" / "bin" / "fast-agent")
        return [program, "go", "--servers", SERVER, "--model", "generic.scripted", "--message", words]
