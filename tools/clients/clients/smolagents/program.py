"""A tool-calling agent of smolagents with one MCP server."""

import json
import sys

from mcp import StdioServerParameters
from smolagents import OpenAIServerModel, ToolCallingAgent, ToolCollection

given = json.loads(sys.argv[1])
start = StdioServerParameters(command=given["command"], args=given["args"], env=given["env"])
model = OpenAIServerModel(model_id="gpt-4o", api_base=given["model"], api_key="scripted")
with ToolCollection.from_mcp(start, trust_remote_code=True) as tools:
    agent = ToolCallingAgent(tools=[*tools.tools], model=model, max_steps=20, verbosity_level=0)
    print(agent.run(given["words"]))
