"""The OpenAI Agents SDK, in a program as its documentation writes one."""

from harness.framework import Framework


class Driver(Framework):
    title = "openai-agents"
    package = "openai-agents"
    limits = {"prompt": "A program has no slash commands."}
