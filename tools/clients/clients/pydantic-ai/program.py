"""An agent of Pydantic AI with one MCP server."""

import asyncio
import json
import sys

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPServerStdio
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


async def main() -> None:
    given = json.loads(sys.argv[1])
    server = MCPServerStdio(given["command"], args=given["args"], env=given["env"], timeout=30)
    provider = OpenAIProvider(base_url=given["model"], api_key="scripted")
    agent = Agent(OpenAIChatModel("gpt-4o", provider=provider), toolsets=[server])
    async with agent:
        result = await agent.run(given["words"])
        print(result.output)


asyncio.run(main())
