"""smolagents, in a program as its documentation writes one."""

from harness.framework import Framework


class Driver(Framework):
    title = "smolagents"
    package = "smolagents"
    limits = {"prompt": "A program has no slash commands."}
    fills_arguments = True
