"""An agent of the OpenAI Agents SDK with one MCP server."""

import asyncio
import json
import sys

from agents import Agent, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio


async def main() -> None:
    given = json.loads(sys.argv[1])
    set_tracing_disabled(True)
    start = {"command": given["command"], "args": given["args"], "env": given["env"]}
    async with MCPServerStdio(params=start, client_session_timeout_seconds=30) as server:
        agent = Agent(name="clients", model="gpt-4o", mcp_servers=[server])
        result = await Runner.run(agent, given["words"], max_turns=20)
        print(result.final_output)


asyncio.run(main())
