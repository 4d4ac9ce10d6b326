"""What one request of a client shows the model, whatever the wire format, and what the model answers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Tool:
    """A tool as the client offers it to the model."""

    name: str
    description: str
    schema: dict[str, Any]

    @property
    def properties(self) -> dict[str, Any]:
        return self.schema.get("properties") or {}


@dataclass(frozen=True)
class Result:
    """What the client tells the model about a call."""

    call: str
    tool: str
    text: str
    is_error: bool = False


# What models take as a tool's name; a request with another one is refused as a whole.
TOOL_NAME = r"[A-Za-z0-9_-]{1,64}"


@dataclass
class Conversation:
    """One request: everything that a model would have read."""

    tool_name: str = TOOL_NAME
    system: str = ""
    user: str = ""
    tools: list[Tool] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    # Names of called tools by the id of the call, to name results that carry the id only.
    called: dict[str, str] = field(default_factory=dict)

    def add_result(self, call: str, text: str, *, tool: str = "", is_error: bool = False) -> None:
        self.results.append(Result(call, tool or self.called.get(call, ""), text, is_error))

    def tool(self, *wanted: str) -> Tool | None:
        """The offered tool with one of these names, behind whatever prefix the client puts."""
        for name in wanted:
            ending = re.compile(rf"(?:^|[^a-z0-9]){name.replace('_', '[-_]')}$", re.IGNORECASE)
            for tool in self.tools:
                if ending.search(tool.name):
                    return tool
        return None

    def bad_names(self) -> list[str]:
        """Tools whose name the model's service would refuse."""
        names = [tool.name.rpartition("/")[2] for tool in self.tools]
        return [name for name in names if not re.fullmatch(self.tool_name, name)]

    def everything(self) -> str:
        """All text of the request, for assertions on what was shown anywhere."""
        tools = [f"{tool.name}\n{tool.description}\n{json.dumps(tool.schema)}" for tool in self.tools]
        results = [result.text for result in self.results]
        return "\n".join([self.system, self.user, *tools, *results])


def plain(name: str) -> str:
    """A tool's name without the signs that clients write differently."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


@dataclass(frozen=True)
class Reply:
    """The model's turn: a call of one tool, or words that end the run."""

    text: str = ""
    tool: str = ""
    namespace: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    call: str = ""

    @property
    def is_call(self) -> bool:
        return bool(self.tool)

    @property
    def arguments_text(self) -> str:
        return json.dumps(self.arguments)


def text_of(content: Any) -> str:
    """The text in a message's content: a string, a part, or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, (text_of(part) for part in content)))
    if isinstance(content, dict):
        for key in ("text", "content", "output", "resource", "refusal"):
            if key in content:
                return text_of(content[key])
        if content.get("type") in ("image", "image_url", "input_image"):
            return "[image]"
        return json.dumps(content, ensure_ascii=False)
    return str(content)


def server_sent(events: list[tuple[str | None, Any]]) -> bytes:
    """Events of a stream; data that is a string goes out as it is."""
    pieces = []
    for name, data in events:
        head = f"event: {name}\n" if name else ""
        written = data if isinstance(data, str) else json.dumps(data)
        pieces.append(f"{head}data: {written}\n\n")
    return "".join(pieces).encode()
