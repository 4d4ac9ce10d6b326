"""mcp-use, in a program as its documentation writes one."""

from harness.framework import Framework


class Driver(Framework):
    title = "mcp-use"
    package = "mcp-use"
    limits = {
        "prompt": "A program has no slash commands.",
        "tools": "mcp-use makes a tool of each prompt under the prompt's own name, and OpenAI's service "
        "refuses names with a colon; leave them out with `disallowed_tools`.",
    }

    def variables(self, model: str) -> dict[str, str]:
        return super().variables(model) | {"MCP_USE_ANONYMIZED_TELEMETRY": "false"}
