"""An agent of Pydantic AI with one MCP server."""

import asyncio
import json
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


async def main() -> None:
    given = json.loads(sys.argv[1])
    transport = StdioTransport(given["command"], given["args"], env=given["env"])
    server = MCPToolset(transport)
    provider = OpenAIProvider(base_url=given["model"], api_key="scripted")
    agent = Agent(OpenAIChatModel("gpt-4o", provider=provider), toolsets=[server], retries=5)
    async with agent:
        result = await agent.run(given["words"])
        print(result.output)


asyncio.run(main())
