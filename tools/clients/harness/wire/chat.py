"""Chat Completions: `POST …/chat/completions`."""

from __future__ import annotations

import re
from typing import Any

from ..conversation import Conversation, Reply, Tool, server_sent, text_of

# smolagents writes the results of calls as words of the user, one below the other.
AS_WORDS = re.compile(r"(?:^|\n)(?:Observation|Error):\n")


def read(body: dict[str, Any]) -> Conversation:
    seen = Conversation()
    for message in body.get("messages", []):
        role, content = message.get("role"), text_of(message.get("content"))
        if role in ("system", "developer"):
            seen.system += content + "\n"
        elif role == "user":
            words, *results = AS_WORDS.split(content)
            seen.user += words + "\n"
            for result in results:
                seen.add_result("", result)
        elif role == "tool":
            seen.add_result(message.get("tool_call_id", ""), content)
        for call in message.get("tool_calls") or []:
            seen.called[call.get("id", "")] = call["function"]["name"]
    for tool in body.get("tools") or []:
        function = tool.get("function") or tool.get("custom") or tool
        seen.tools.append(
            Tool(
                function.get("name", ""),
                function.get("description") or "",
                function.get("parameters") or {},
            )
        )
    return seen


USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def write(reply: Reply, body: dict[str, Any]) -> tuple[str, bytes | dict[str, Any]]:
    finish = "tool_calls" if reply.is_call else "stop"
    head = {"id": "chatcmpl-1", "created": 1, "model": body.get("model", "scripted")}
    if not body.get("stream"):
        message = {"role": "assistant", **delta(reply)}
        message.setdefault("content", None)
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return "application/json", {
            **head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": USAGE,
        }
    head["object"] = "chat.completion.chunk"
    first = {"index": 0, "delta": {"role": "assistant", **delta(reply)}, "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": finish}
    events: list[tuple[str | None, Any]] = [
        (None, {**head, "choices": [first]}),
        (None, {**head, "choices": [last]}),
        (None, {**head, "choices": [], "usage": USAGE}),
        (None, "[DONE]"),
    ]
    return "text/event-stream", server_sent(events)


def delta(reply: Reply) -> dict[str, Any]:
    if not reply.is_call:
        return {"content": reply.text}
    function = {"name": reply.tool, "arguments": reply.arguments_text}
    return {"tool_calls": [{"index": 0, "id": reply.call, "type": "function", "function": function}]}
