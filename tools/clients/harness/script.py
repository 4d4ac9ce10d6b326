"""What the model does: a list of calls, each made as soon as the one before was answered.

A model reads the schema it is shown, and so does the script: names of tools may have any prefix, and
arguments are named as the tool offered names them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .conversation import Conversation, Reply, Tool, plain

# The tools that do a thing, the more particular ones first.
LIST = ("search_skills", "find_skills", "list_skills")
LOAD = ("load_skill", "get_skill", "use_skill")
READ = ("read_skill_file", "read_file_of_skill")
RUN = ("run_skill_script",)
# Tools with which a run ends in clients that do not take words for the end.
ENDS = ("final_answer", "attempt_completion", "submit_and_exit")
# Tools with which clients find the tools that they do not list.
SEARCHES = {"toolsearch", "searchtools", "toolsearchtool"}

WINDOW = re.compile(r"[Ww]indow:? `?([\w-]{4,})")

Arguments = Callable[[Tool, Conversation], dict[str, Any]]


@dataclass(frozen=True)
class Step:
    """One call: its name in reports, the tools it may use, and its arguments."""

    name: str
    tools: tuple[str, ...]
    arguments: Arguments


def key(tool: Tool, *wanted: str) -> str:
    """The name that the tool's schema gives to an argument."""
    for name in wanted:
        if name in tool.properties:
            return name
    return wanted[0]


def list_skills(query: str) -> Step:
    def arguments(tool: Tool, _: Conversation) -> dict[str, Any]:
        return {"query": query} if "query" in tool.properties else {}

    return Step("list", LIST, arguments)


def load_skill(name: str, handle: str) -> Step:
    return Step(name, LOAD, lambda tool, _: {key(tool, "name", "skill", "handle", "uri"): handle})


def read_file(name: str, handle: str, path: str, offsets: dict[str, int] | None = None) -> Step:
    """Reads a file; `offsets` has the place to begin at, as a count of lines and of bytes."""

    def arguments(tool: Tool, seen: Conversation) -> dict[str, Any]:
        given: dict[str, Any] = {key(tool, "path", "file"): path}
        skill = key(tool, "skill", "name", "handle")
        if skill in tool.properties:
            given[skill] = handle
        elif "window" in tool.properties:
            given["window"] = last_window(seen)
        if offsets and "offset" in tool.properties:
            unit = "line" if "line" in str(tool.properties["offset"]).lower() else "byte"
            given["offset"] = offsets[unit]
            if "limit" in tool.properties:
                given["limit"] = {"line": 100, "byte": 4000}[unit]
        return given

    return Step(name, READ, arguments)


def run_script(name: str, handle: str, path: str, file: Path) -> Step:
    """Runs a script on a file of the user."""

    def arguments(tool: Tool, _: Conversation) -> dict[str, Any]:
        skill = key(tool, "name", "skill", "handle")
        return {skill: handle, "script": path, "args": [str(file)], "inputs": [str(file)]}

    return Step(name, RUN, arguments)


def load_wrongly(name: str) -> Step:
    """A call with arguments that no schema allows."""
    return Step(name, LOAD, lambda tool, _: {key(tool, "name", "skill", "handle", "uri"): 4711})


def empty(name: str, schema: dict[str, Any]) -> Any:
    """What a model gives for an argument it does not want."""
    kind = str(schema.get("type"))
    if "boolean" in kind:
        return False
    if "array" in kind:
        return []
    if "integer" in kind or "number" in kind:
        return 20_000 if name == "limit" else 0
    return ""


def last_window(seen: Conversation) -> str:
    found = [match[1] for result in seen.results for match in WINDOW.finditer(result.text)]
    return found[-1] if found else "none"


@dataclass
class Script:
    """The steps, and what became of each."""

    steps: list[Step]
    closing: str
    # Some clients take a call only if it has every argument, also those that are optional.
    fills: bool = False
    # What each step's call was answered, as the model saw it in the end.
    answers: dict[str, str] = field(default_factory=dict)
    failed: dict[str, bool] = field(default_factory=dict)
    # The first request in which the client offered the tools of the script.
    first: Conversation | None = None
    missing: list[str] = field(default_factory=list)
    finished: bool = False

    def play(self, seen: Conversation) -> Reply:
        """The model's next turn. Requests that are not part of the run get a word and change nothing."""
        if not self.concerns(seen):
            return Reply(text="ok")
        if self.first is None and seen.tool(*LOAD):
            self.first = seen
        answered = [result for result in seen.results if plain(result.tool) not in SEARCHES]
        for step, result in zip(self.steps, answered, strict=False):
            self.answers[step.name] = result.text
            self.failed[step.name] = result.is_error
        position = len(answered)
        if position >= len(self.steps):
            self.finished = True
            return self.end(seen)
        return self.call(self.steps[position], position, seen)

    def concerns(self, seen: Conversation) -> bool:
        """Tells the run itself from requests for a title or a summary, which offer no tools."""
        return bool(seen.results) or seen.tool(*LOAD) is not None or self.search(seen) is not None

    def call(self, step: Step, position: int, seen: Conversation) -> Reply:
        tool = seen.tool(*step.tools)
        if tool:
            given = step.arguments(tool, seen)
            if self.fills:
                given = {name: empty(name, kind) for name, kind in tool.properties.items()} | given
            return Reply(tool=tool.name, arguments=given, call=f"call_{position}")
        search = self.search(seen)
        if search and len(seen.results) - position < 2:
            query = {key(search, "query", "q"): step.tools[0].replace("_", " ")}
            return Reply(tool=search.name, arguments=query, call=f"search_{len(seen.results)}")
        self.missing.append(step.name)
        return Reply(text=f"I have no tool for: {step.name}.")

    def end(self, seen: Conversation) -> Reply:
        if tool := seen.tool(*ENDS):
            words = {key(tool, "answer", "result", "summary"): self.closing}
            return Reply(tool=tool.name, arguments=words, call="call_end")
        return Reply(text=self.closing)

    @staticmethod
    def search(seen: Conversation) -> Tool | None:
        return next((tool for tool in seen.tools if plain(tool.name) in SEARCHES), None)


class ToolSearch(Script):
    """A model that searches for tools by words, in a client that does not show all of them."""

    def __init__(self, query: str, closing: str) -> None:
        super().__init__([], closing)
        self.query = query

    def play(self, seen: Conversation) -> Reply:
        search = self.search(seen)
        if search is None:
            return Reply(text="ok")
        if not seen.results:
            self.first = self.first or seen
            words = {key(search, "query", "q"): self.query}
            return Reply(tool=search.name, arguments=words, call="search_0")
        self.answers["search"] = seen.results[0].text
        self.finished = True
        return self.end(seen)
