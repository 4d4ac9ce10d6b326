"""FastMCP with its experimental skills extension, as its documentation shows it.

    python fastmcp_server.py DIR          speaks over standard input and output
    python fastmcp_server.py DIR --http   listens on a free port and prints `listening on URL`

Over HTTP it runs without sessions and answers with plain JSON, its fastest way. Listings are not
paginated, because it reads the whole folder again for every page.
"""

import os
import socket
import sys
import threading

from fastmcp import FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider
from fastmcp.skills.extension import SkillsExtension


def server(folder: str) -> FastMCP:
    mcp = FastMCP("fastmcp")
    skills = SkillsDirectoryProvider(folder, experimental_skills=True)
    mcp.add_provider(skills)
    mcp.add_extension(SkillsExtension(providers=[skills]))
    return mcp


def end_with_parent() -> None:
    """The benchmark holds the other end of standard input: when it goes away, so does this."""
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    mcp = server(sys.argv[1])
    if sys.argv[2:] != ["--http"]:
        mcp.run(transport="stdio", show_banner=False, log_level="ERROR")
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    threading.Thread(target=end_with_parent, daemon=True).start()
    print(f"listening on http://127.0.0.1:{port}/mcp", flush=True)
    mcp.run(
        transport="http",
        host="127.0.0.1",
        port=port,
        path="/mcp",
        json_response=True,
        stateless_http=True,
        show_banner=False,
        log_level="ERROR",
        uvicorn_config={"access_log": False},
    )


if __name__ == "__main__":
    main()
