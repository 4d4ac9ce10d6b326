"""FastMCP with skills, two tools, two resources and a template of resources.

    python fastmcp_tools.py DIR --http   listens on a free port and prints `listening on URL`
"""

import sys

import fastmcp_server
from mcp.types import ResourceLink


def server(folder: str) -> fastmcp_server.FastMCP:
    mcp = SKILLS(folder)

    @mcp.tool(output_schema=None)
    def find() -> list[ResourceLink]:
        """Finds a note."""
        return [ResourceLink(type="resource_link", uri="notes:///one", name="one")]

    @mcp.tool
    def erase() -> str:
        """Erases everything."""
        return "erased"

    @mcp.resource("notes:///one", name="one")
    def one() -> str:
        return "note one"

    @mcp.resource("private:///one", name="private")
    def private() -> str:
        return "private"

    @mcp.resource("notes:///by-name/{name}", name="note")
    def note(name: str) -> str:
        return f"note {name}"

    return mcp


SKILLS = fastmcp_server.server
fastmcp_server.server = server

if __name__ == "__main__":
    sys.argv[2:] = ["--http"]
    fastmcp_server.main()
