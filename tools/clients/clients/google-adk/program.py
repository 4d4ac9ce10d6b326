"""An agent of the Agent Development Kit with one MCP server."""

import asyncio
import json
import sys

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from google.genai import types
from mcp import StdioServerParameters


async def main() -> None:
    given = json.loads(sys.argv[1])
    start = StdioServerParameters(command=given["command"], args=given["args"], env=given["env"])
    tools = McpToolset(connection_params=StdioConnectionParams(server_params=start, timeout=30))
    agent = LlmAgent(name="clients", model="gemini-2.5-pro", instruction="Help.", tools=[tools])
    runner = InMemoryRunner(agent=agent, app_name="clients")
    session = await runner.session_service.create_session(app_name="clients", user_id="user")
    words = types.Content(role="user", parts=[types.Part(text=given["words"])])
    async for event in runner.run_async(user_id="user", session_id=session.id, new_message=words):
        for part in (event.content and event.content.parts) or []:
            if part.text:
                print(part.text)
    await tools.close()


asyncio.run(main())
