"""mcp-use, in a program as its documentation writes one."""

from harness.framework import Framework


class Driver(Framework):
    title = "mcp-use"
    package = "mcp-use"
    limits = {"prompt": "A program has no slash commands."}

    def variables(self, model: str) -> dict[str, str]:
        return super().variables(model) | {"MCP_USE_ANONYMIZED_TELEMETRY": "false"}
