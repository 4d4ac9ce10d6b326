"""An agent of mcp-use with one MCP server."""

import asyncio
import json
import sys

from langchain_openai import ChatOpenAI
from mcp_use import MCPAgent, MCPClient


async def main() -> None:
    given = json.loads(sys.argv[1])
    server = {"command": given["command"], "args": given["args"], "env": given["env"]}
    client = MCPClient.from_dict({"mcpServers": {"skillwire": server}})
    model = ChatOpenAI(model="gpt-4o", base_url=given["model"], api_key="scripted")
    agent = MCPAgent(llm=model, client=client, max_steps=20)
    print(await agent.run(given["words"]))
    await client.close_all_sessions()


asyncio.run(main())
