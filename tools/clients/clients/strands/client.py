"""Strands Agents, in a program as its documentation writes one."""

from harness.framework import Framework


class Driver(Framework):
    title = "strands"
    package = "strands-agents"
    limits = {"prompt": "A program has no slash commands."}
