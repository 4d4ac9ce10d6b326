"""Drives the official Python client: one JSON command on each line in, one JSON answer out.

    python clients/drive.py '{"era":"modern","forms":true,"command":["skillwire","bridge"]}'
    python clients/drive.py '{"era":"legacy","forms":false,"url":"http://…/mcp","token":"…"}'
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters, types
from mcp.client.streamable_http import streamable_http_client

SETTINGS = json.loads(sys.argv[1])


class Asked:
    """The form the user saw last, and what they say to it."""

    form: dict[str, Any] | None = None
    answer: dict[str, Any] | None = None


async def elicited(_: object, params: types.ElicitRequestParams) -> types.ElicitResult:
    Asked.form = params.model_dump(mode="json", by_alias=True)
    return types.ElicitResult.model_validate(Asked.answer)


def server() -> Any:
    if command := SETTINGS.get("command"):
        return StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {SETTINGS['token']}"})
    return streamable_http_client(SETTINGS["url"], http_client=http)


async def perform(client: Client, command: dict[str, Any]) -> Any:
    match command["op"]:
        case "tools":
            return [tool.name for tool in (await client.list_tools()).tools]
        case "resources":
            return [str(resource.uri) for resource in (await client.list_resources()).resources]
        case "templates":
            listed = await client.list_resource_templates()
            return [template.uri_template for template in listed.resource_templates]
        case "prompts":
            return [prompt.name for prompt in (await client.list_prompts()).prompts]
        case "prompt":
            result = await client.get_prompt(command["name"])
        case "call":
            result = await client.call_tool(command["tool"], command["arguments"])
        case "read":
            result = await client.read_resource(command["uri"])
        case "instructions":
            return client.instructions or ""
        case other:
            raise ValueError(other)
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main() -> None:
    mode = "2026-07-28" if SETTINGS["era"] == "modern" else "legacy"
    callback = elicited if SETTINGS["forms"] else None
    async with Client(server(), mode=mode, elicitation_callback=callback) as client:
        while line := await asyncio.to_thread(sys.stdin.readline):
            command = json.loads(line)
            Asked.form, Asked.answer = None, command.get("answer")
            try:
                told = {"result": await perform(client, command), "form": Asked.form}
            except Exception as error:  # noqa: BLE001 - whatever it is, the check wants to see it
                told = {"error": repr(error), "form": Asked.form}
            print(json.dumps(told), flush=True)


asyncio.run(main())
