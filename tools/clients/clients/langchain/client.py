"""LangChain with its MCP adapters, in a program as its documentation writes one."""

from harness.framework import Framework


class Driver(Framework):
    title = "langchain-mcp-adapters"
    package = "langchain-mcp-adapters"
    limits = {"prompt": "A program has no slash commands."}
