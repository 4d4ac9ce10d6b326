"""Serves a folder of skills over standard input and output, as FastMCP 3 does it."""

import sys
from pathlib import Path

from fastmcp import FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider

server = FastMCP("skills")
server.add_provider(SkillsDirectoryProvider(roots=Path(sys.argv[1])))
server.run(transport="stdio", show_banner=False)
