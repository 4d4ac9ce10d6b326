"""Pydantic AI, in a program as its documentation writes one."""

from harness.framework import Framework


class Driver(Framework):
    title = "pydantic-ai"
    package = "pydantic-ai-slim"
    limits = {"prompt": "A program has no slash commands."}
