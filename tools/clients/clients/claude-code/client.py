"""Claude Code, run with `claude -p`."""

from harness.client import Client
from harness.world import SERVER, Entry


class Driver(Client):
    title = "Claude Code"
    package = "@anthropic-ai/claude-code"
    slash_commands = True
    searches_tools = True
    model_path = ""

    def configure(self, entry: Entry, model: str) -> None:
        server = {"type": "stdio", "command": entry.command, "args": entry.args, "env": entry.env}
        self.world.write(
            ".claude.json",
            {
                "hasCompletedOnboarding": True,
                "projects": {str(self.world.work): {"hasTrustDialogAccepted": True}},
                "mcpServers": {SERVER: server | {"alwaysLoad": self.always_load}},
            },
        )

    def variables(self, model: str) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": model,
            "ANTHROPIC_API_KEY": "scripted",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "ENABLE_TOOL_SEARCH": "true",
        }

    def command(self, words: str) -> list[str]:
        program = next(self.modules.glob("@anthropic-ai/claude-code-linux-*/claude*"))
        return [str(program), "-p", words, "--allowedTools", f"mcp__{SERVER}"]

    def slash(self, handle: str, words: str) -> list[str]:
        return self.command(f"/mcp__{SERVER}__{handle} {words}")
