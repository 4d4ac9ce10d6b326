"""Responses: `POST …/responses`."""

from __future__ import annotations

from typing import Any

from ..conversation import Conversation, Reply, Tool, server_sent, text_of


def read(body: dict[str, Any]) -> Conversation:
    seen = Conversation(system=text_of(body.get("instructions")))
    items = body.get("input", [])
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    for item in items:
        kind, role = item.get("type", "message"), item.get("role")
        if kind in ("function_call", "custom_tool_call", "tool_search_call"):
            seen.called[item.get("call_id", "")] = item.get("name", kind)
        elif kind.endswith("_output"):
            seen.add_result(item.get("call_id", ""), text_of(item.get("output", item.get("tools"))))
            # A search for tools answers with tools, which may be called from then on.
            seen.tools += tools(item.get("tools") or [])
        elif role in ("system", "developer"):
            seen.system += "\n" + text_of(item.get("content"))
        elif role == "user":
            seen.user += text_of(item.get("content")) + "\n"
    listed = body.get("tools") or []
    seen.tools += tools(listed)
    # Codex shows a server's instructions as the description of its namespace.
    spaces = [tool.get("description") or "" for tool in listed if tool.get("type") == "namespace"]
    seen.system += "\n" + "\n".join(spaces)
    return seen


def tools(listed: list[dict[str, Any]]) -> list[Tool]:
    """The tools of a list; a namespace holds a list of its own."""
    found = []
    for tool in listed:
        if tool.get("type") == "namespace":
            for inner in tools(tool.get("tools") or []):
                name = f"{tool.get('name', '')}/{inner.name}"
                found.append(Tool(name, inner.description, inner.schema))
        else:
            name = tool.get("name") or tool.get("type", "")
            found.append(Tool(name, tool.get("description") or "", tool.get("parameters") or {}))
    return found


def write(reply: Reply, body: dict[str, Any]) -> tuple[str, bytes | dict[str, Any]]:
    if reply.is_call:
        namespace, _, name = reply.tool.rpartition("/")
        item: dict[str, Any] = {
            "type": "function_call",
            "id": f"fc_{reply.call}",
            "call_id": reply.call,
            "name": name,
            "arguments": reply.arguments_text,
            "status": "completed",
        }
        if namespace:
            item["namespace"] = namespace
    else:
        part = {"type": "output_text", "text": reply.text, "annotations": []}
        item = {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 15,
    }
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": body.get("model", "scripted"),
        "output": [item],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "usage": usage,
    }
    if not body.get("stream"):
        return "application/json", whole
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *deltas(reply, item),
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    return "text/event-stream", server_sent([(event["type"], event) for event in numbered])


def deltas(reply: Reply, item: dict[str, Any]) -> list[dict[str, Any]]:
    place = {"item_id": item["id"], "output_index": 0}
    if reply.is_call:
        return [
            {
                **place,
                "type": "response.function_call_arguments.done",
                "name": item["name"],
                "arguments": reply.arguments_text,
            }
        ]
    return [
        {
            **place,
            "type": "response.output_text.delta",
            "content_index": 0,
            "delta": reply.text,
            "logprobs": [],
        }
    ]
