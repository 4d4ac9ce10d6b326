"""An agent of Strands Agents with one MCP server."""

import json
import sys

from mcp import StdioServerParameters, stdio_client
from strands import Agent
from strands.models.openai import OpenAIModel
from strands.tools.mcp import MCPClient

given = json.loads(sys.argv[1])
start = StdioServerParameters(command=given["command"], args=given["args"], env=given["env"])
model = OpenAIModel(
    client_args={"base_url": given["model"], "api_key": "scripted"}, model_id="gpt-4o"
)
with MCPClient(lambda: stdio_client(start)) as client:
    agent = Agent(model=model, tools=client.list_tools_sync(), callback_handler=None)
    print(agent(given["words"]))
