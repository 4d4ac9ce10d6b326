"""Messages: `POST …/messages`."""

from __future__ import annotations

from typing import Any

from ..conversation import Conversation, Reply, Tool, server_sent, text_of


def read(body: dict[str, Any]) -> Conversation:
    seen = Conversation(system=text_of(body.get("system")))
    for message in body.get("messages", []):
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        for part in parts:
            kind = part.get("type")
            if kind == "tool_use":
                seen.called[part["id"]] = part["name"]
            elif kind == "tool_result":
                failed = bool(part.get("is_error"))
                seen.add_result(
                    part["tool_use_id"], text_of(part.get("content")), is_error=failed
                )
            elif message.get("role") == "user":
                seen.user += text_of(part) + "\n"
            elif message.get("role") == "system":
                seen.system += text_of(part) + "\n"
    for tool in body.get("tools") or []:
        schema = tool.get("input_schema") or {}
        seen.tools.append(Tool(tool.get("name", ""), tool.get("description") or "", schema))
    return seen


def write(reply: Reply, body: dict[str, Any]) -> tuple[str, bytes | dict[str, Any]]:
    stop = "tool_use" if reply.is_call else "end_turn"
    if reply.is_call:
        block = {"type": "tool_use", "id": reply.call, "name": reply.tool}
        whole, begun = {**block, "input": reply.arguments}, {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": reply.arguments_text}
    else:
        whole, begun = {"type": "text", "text": reply.text}, {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": reply.text}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": [whole],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    if not body.get("stream"):
        return "application/json", message
    ended = {"stop_reason": stop, "stop_sequence": None}
    events = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    return "text/event-stream", server_sent([(event["type"], event) for event in events])
