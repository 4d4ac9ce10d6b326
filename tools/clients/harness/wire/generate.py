"""`generateContent`: `POST …/models/NAME:generateContent` and `:streamGenerateContent`."""

from __future__ import annotations

from typing import Any

from ..conversation import Conversation, Reply, Tool, server_sent, text_of

TOOL_NAME = r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}"


def read(body: dict[str, Any]) -> Conversation:
    instruction = body.get("systemInstruction") or body.get("system_instruction") or {}
    seen = Conversation(system=parts_text(instruction), tool_name=TOOL_NAME)
    contents = body.get("contents", [])
    for content in contents if isinstance(contents, list) else [contents]:
        for part in content.get("parts") or []:
            if "functionResponse" in part:
                answer = part["functionResponse"]
                response = answer.get("response") or {}
                told = response.get("output", response.get("error", response.get("result", response)))
                seen.add_result(
                    answer.get("id", ""),
                    text_of(told),
                    tool=answer.get("name", ""),
                    is_error="error" in response or bool(response.get("isError")),
                )
            elif "text" in part and content.get("role", "user") == "user":
                seen.user += part["text"] + "\n"
    for tool in body.get("tools") or []:
        for declared in tool.get("functionDeclarations") or tool.get("function_declarations") or []:
            schemas = ("parametersJsonSchema", "parameters_json_schema", "parameters")
            schema = next(filter(None, map(declared.get, schemas)), {})
            seen.tools.append(Tool(declared["name"], declared.get("description") or "", schema))
    return seen


def parts_text(content: Any) -> str:
    return text_of(content.get("parts") if isinstance(content, dict) else content)


def write(reply: Reply, body: dict[str, Any], streamed: bool) -> tuple[str, bytes | dict[str, Any]]:
    if reply.is_call:
        part = {"functionCall": {"id": reply.call, "name": reply.tool, "args": reply.arguments}}
    else:
        part = {"text": reply.text}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
    if streamed:
        return "text/event-stream", server_sent([(None, whole)])
    return "application/json", whole
