"""An agent of LangChain with the tools of one MCP server."""

import asyncio
import json
import sys

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI


async def main() -> None:
    given = json.loads(sys.argv[1])
    server = {
        "transport": "stdio",
        "command": given["command"],
        "args": given["args"],
        "env": given["env"],
    }
    client = MultiServerMCPClient({"skillwire": server})
    model = ChatOpenAI(model="gpt-4o", base_url=given["model"], api_key="scripted")
    agent = create_agent(model, await client.get_tools())
    words = {"messages": [{"role": "user", "content": given["words"]}]}
    result = await agent.ainvoke(words, {"recursion_limit": 50})
    print(result["messages"][-1].content)


asyncio.run(main())
