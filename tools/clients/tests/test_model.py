"""The scripted model itself: four wire formats, and a script that follows what it is offered.

    python3 -m unittest discover -s tools/clients/tests -t tools/clients
"""

from __future__ import annotations

import json
import unittest
import urllib.error
import urllib.request

from harness import script
from harness.conversation import Conversation, Reply, Tool
from harness.model import Model
from harness.wire import chat, generate, messages, responses

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}
NAMES = ["mcp__s__unload_skill", "mcp__s__load_skill", "mcp__s__list_skills"]


def tool(name: str) -> Tool:
    return Tool(name, "What it does.", SCHEMA)


class WireFormats(unittest.TestCase):
    """Each format reads the same conversation out of its own request."""

    def check(self, seen: Conversation) -> None:
        self.assertIn("rules", seen.system)
        self.assertIn("please", seen.user)
        self.assertEqual(seen.tool("load_skill").name, "mcp__s__load_skill")
        self.assertEqual([result.text for result in seen.results], ["found"])
        self.assertEqual(seen.results[0].tool, "mcp__s__load_skill")

    def test_chat_completions(self) -> None:
        called = {"id": "1", "function": {"name": "mcp__s__load_skill", "arguments": "{}"}}
        self.check(
            chat.read(
                {
                    "messages": [
                        {"role": "system", "content": "rules"},
                        {"role": "user", "content": [{"type": "text", "text": "please"}]},
                        {"role": "assistant", "tool_calls": [called]},
                        {"role": "tool", "tool_call_id": "1", "content": "found"},
                    ],
                    "tools": [{"function": {"name": name, "parameters": SCHEMA}} for name in NAMES],
                }
            )
        )

    def test_responses(self) -> None:
        self.check(
            responses.read(
                {
                    "instructions": "rules",
                    "input": [
                        {"role": "user", "content": [{"type": "input_text", "text": "please"}]},
                        {"type": "function_call", "call_id": "1", "name": "mcp__s__load_skill"},
                        {"type": "function_call_output", "call_id": "1", "output": "found"},
                    ],
                    "tools": [{"type": "function", "name": name} for name in NAMES],
                }
            )
        )

    def test_messages(self) -> None:
        used = {"type": "tool_use", "id": "1", "name": "mcp__s__load_skill", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "found"}]}
        self.check(
            messages.read(
                {
                    "system": [{"type": "text", "text": "rules"}],
                    "messages": [
                        {"role": "user", "content": "please"},
                        {"role": "assistant", "content": [used]},
                        {"role": "user", "content": [result]},
                    ],
                    "tools": [{"name": name, "input_schema": SCHEMA} for name in NAMES],
                }
            )
        )

    def test_generate_content(self) -> None:
        answer = {"name": "mcp__s__load_skill", "response": {"output": "found"}}
        self.check(
            generate.read(
                {
                    "systemInstruction": {"parts": [{"text": "rules"}]},
                    "contents": [
                        {"role": "user", "parts": [{"text": "please"}]},
                        {"role": "user", "parts": [{"functionResponse": answer}]},
                    ],
                    "tools": [{"functionDeclarations": [{"name": name} for name in NAMES]}],
                }
            )
        )

    def test_streams_hold_the_same_call_as_whole_answers(self) -> None:
        reply = Reply(tool="load_skill", arguments={"name": "a:b"}, call="1")
        for wire in (chat, responses, messages):
            _, whole = wire.write(reply, {})
            kind, stream = wire.write(reply, {"stream": True})
            self.assertEqual(kind, "text/event-stream")
            self.assertIn("load_skill", json.dumps(whole))
            self.assertIn(b"a:b", stream)


class Playing(unittest.TestCase):
    """A script goes on with each answer, and names arguments as the schema does."""

    def test_steps_follow_the_results(self) -> None:
        played = script.Script([script.load_skill("load", "a:b")], "done")
        seen = Conversation(tools=[tool(name) for name in NAMES])
        first = played.play(seen)
        self.assertEqual((first.tool, first.arguments), ("mcp__s__load_skill", {"name": "a:b"}))
        seen.add_result("call_0", "text of the skill")
        self.assertEqual(played.play(seen).text, "done")
        self.assertEqual(played.answers, {"load": "text of the skill"})
        self.assertTrue(played.finished)

    def test_requests_without_tools_change_nothing(self) -> None:
        played = script.Script([script.load_skill("load", "a:b")], "done")
        self.assertEqual(played.play(Conversation(user="Write a title.")).text, "ok")
        self.assertFalse(played.finished)

    def test_names_that_services_refuse_are_found(self) -> None:
        seen = Conversation(tools=[tool("load_skill"), tool("examples:csv")])
        self.assertEqual(seen.bad_names(), ["examples:csv"])


class Loopback(unittest.TestCase):
    """The model answers its own address, and refuses every other one as a proxy."""

    def test_other_hosts_are_refused_and_kept(self) -> None:
        with Model(lambda _: Reply(text="ok")) as model:
            proxy = urllib.request.ProxyHandler({"http": model.address})
            opener = urllib.request.build_opener(proxy)
            with self.assertRaises(urllib.error.HTTPError) as refused:
                opener.open("http://telemetry.example/collect", data=b"{}")
            self.assertEqual(refused.exception.code, 403)
            self.assertEqual(model.refused, {"telemetry.example"})


if __name__ == "__main__":
    unittest.main()
