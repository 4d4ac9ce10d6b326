#!/usr/bin/env python3
"""Checks `skillwire bridge` with the official clients, the conformance suite and the Inspector.

    python3 tools/peers/bridge.py target/release/skillwire examples/skills

Both official clients, on both eras and both transports, list, are refused, are asked, load, read,
see a change refused, are asked again with the difference, and read again. Then what is approved is
checked as any server of skills: by the conformance suite, with the counts of `serve`, and by the
Inspector, which reads every file. The npm packages come from `npm ci --ignore-scripts` in this
folder, the Python client from `bash bench/peers/install`.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import conformance
import inspector
from peers import HERE, Broken, Server, Tally, node, run_process, scratch
from token_proxy import TokenProxy

ERAS = ["modern", "legacy"]
TRANSPORTS = ["stdio", "http"]
PATIENCE = 30

PYTHON = HERE.parent.parent / "bench" / "peers" / ".venv" / "bin" / "python"

YES = {"action": "accept", "content": {"load": True}}
NO = {"action": "decline"}

SKILL = """---
name: refunds
description: Refund by the book. Use when money goes back.
allowed-tools: Bash(refund:*)
---

Read `references/limits.md` first. {body}
"""


def clients() -> dict[str, list[str]]:
    """The command lines of the drivers."""
    if not PYTHON.exists():
        raise Broken(f"{PYTHON} is missing; run `bash bench/peers/install`")
    drivers = HERE / "clients"
    return {
        "npm @modelcontextprotocol/client": [node(), str(drivers / "drive.mjs")],
        "PyPI mcp": [str(PYTHON), str(drivers / "drive.py")],
    }


class Client:
    """One of the official clients, driven line by line, for the length of a `with` block."""

    def __init__(self, driver: list[str], settings: dict[str, Any], home: Path) -> None:
        environment = os.environ | variables(home)
        self.process = subprocess.Popen(
            [*driver, json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=environment,
            cwd=home,
        )
        self.said: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.log: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_log, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.said.put(line)
        self.said.put("")

    def _read_log(self) -> None:
        self.log.extend(self.process.stderr)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def ask(self, op: str, **command: Any) -> dict[str, Any]:
        """Sends a command and returns what came of it."""
        self.process.stdin.write(json.dumps({"op": op, **command}) + "\n")
        self.process.stdin.flush()
        try:
            line = self.said.get(timeout=PATIENCE)
        except queue.Empty:
            raise Broken(f"the client does not answer `{op}`:\n{''.join(self.log)}") from None
        if not line:
            raise Broken(f"the client ended at `{op}`:\n{''.join(self.log)}")
        return json.loads(line)

    def call(self, tool: str, answer: Any = None, **arguments: Any) -> dict[str, Any]:
        told = self.ask("call", tool=tool, arguments=arguments, answer=answer)
        if "error" in told:
            raise Broken(f"`{tool}` failed: {told['error']}")
        return told["result"] | {"form": told["form"]}

    def load(self, handle: str, answer: Any = None) -> dict[str, Any]:
        return self.call("load_skill", answer, name=handle)

    def read(self, handle: str, path: str) -> dict[str, Any]:
        return self.call("read_skill_file", name=handle, path=path)


def text(result: dict[str, Any]) -> str:
    return result["content"][0]["text"]


def code(result: dict[str, Any]) -> str | None:
    """The code of a refusal; nothing when it is none."""
    if not result.get("isError"):
        return None
    return text(result).partition("Refused (")[2].partition(")")[0]


def until(what: str, found: Callable[[], Any]) -> Any:
    """Waits until something is true, and returns it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.05)
    raise Broken(f"in {PATIENCE} s it never came to this: {what}")


def variables(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "SKILLWIRE_HOME": str(home / "skillwire"), "NO_COLOR": "1"}


def skillwire(binary: Path, home: Path, *arguments: str) -> str:
    ended = run_process([str(binary), *arguments], home=str(home), variables=variables(home))
    if ended.returncode != 0:
        raise Broken(f"`skillwire {' '.join(arguments)}`:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def write_skill(folder: Path, body: str, limits: str) -> None:
    (folder / "refunds" / "references").mkdir(parents=True, exist_ok=True)
    (folder / "refunds" / "SKILL.md").write_text(SKILL.format(body=body), encoding="utf-8")
    (folder / "refunds" / "references" / "limits.md").write_text(limits, encoding="utf-8")


@contextmanager
def bridged(binary: Path, home: Path, transport: str) -> Iterator[dict[str, Any]]:
    """How to reach a bridge of this home: a command to start, or one that listens."""
    if transport == "stdio":
        yield {"command": [str(binary), "bridge"]}
        return
    token = secrets.token_hex(16)
    file = home / "token"
    file.write_text(token, encoding="utf-8")
    command = ["env", "-C", str(home), *(f"{k}={v}" for k, v in variables(home).items())]
    command += [str(binary), "bridge", "--http", "127.0.0.1:0", "--token-file", str(file)]
    with Server(command) as url:
        yield {"url": url, "token": token}


class Story:
    """What must happen, step by step; each step is one check."""

    def __init__(self) -> None:
        self.passed = 0
        self.problems: list[str] = []

    def check(self, what: str, holds: object, seen: object = "") -> None:
        if holds:
            self.passed += 1
        else:
            self.problems.append(f"{what}: {str(seen)[:600]}")


def tell(story: Story, binary: Path, driver: list[str], era: str, transport: str) -> None:
    """Two servers with one URI, a folder with the same name, and everything that can happen."""
    with scratch() as folder:
        home, one, two = Path(folder, "home"), Path(folder, "one"), Path(folder, "two")
        home.mkdir()
        write_skill(one, "Of one.", "At most 50 euros.\n")
        write_skill(two, "Of two.", "At most 90 euros.\n")
        write_skill(home / ".agents" / "skills", "Of the folder.", "None.\n")
        with (
            Server.skillwire(binary, one) as first,
            Server.skillwire(binary, two) as second,
        ):
            skillwire(binary, home, "server", "add", "one", first)
            skillwire(binary, home, "server", "add", "two", second)
            with bridged(binary, home, transport) as target:
                settings = target | {"era": era}
                with Client(driver, settings | {"forms": False}, home) as client:
                    without_forms(story, client)
                with Client(driver, settings | {"forms": True}, home) as client:
                    with_forms(story, client, one)
                    command_line(story, client, binary, home)


def without_forms(story: Story, client: Client) -> None:
    tools = client.ask("tools")["result"]
    # No skill has a script, so there is no tool that runs one.
    wanted = [
        "list_skill_files",
        "list_skills",
        "load_skill",
        "read_resource",
        "read_skill_file",
        "unload_skill",
    ]
    story.check("the tools are there", tools == wanted, tools)
    handles = ["local:refunds", "one:refunds", "two:refunds"]

    def listed() -> str | None:
        shown = text(client.call("list_skills"))
        return shown if all(f"- {handle}" in shown for handle in handles) else None

    shown = until("three handles", listed)
    story.check("three handles for one name", shown.startswith("3 skills found."), shown)
    refused = client.load("one:refunds")
    story.check("nothing loads without approval", code(refused) == "not_approved", refused)
    command = "skillwire approve one:refunds`"
    story.check("the command is told", command in text(refused), refused)
    local = client.load("local:refunds")
    story.check("a folder of the user needs none", "Of the folder." in text(local), local)
    ambiguous = client.load("refunds")
    story.check("a bare name is ambiguous", code(ambiguous) == "name_ambiguous", ambiguous)


def with_forms(story: Story, client: Client, one: Path) -> None:
    declined = client.load("two:refunds", NO)
    story.check("a form was shown", declined["form"], declined)
    story.check("a no is a no", code(declined) == "user_declined", declined)
    again = client.load("two:refunds", YES)
    story.check("and is remembered", code(again) == "user_declined" and not again["form"], again)

    loaded = client.load("one:refunds", YES)
    message = (loaded["form"] or {}).get("message", "")
    for part in ["MCP server `one`", "references/limits.md", "Bash(refund:*)"]:
        story.check(f"the form shows {part}", part in message, message)
    story.check("the skill is loaded", "Of one." in text(loaded), loaded)
    story.check("under its banner", "Origin: MCP server one" in text(loaded), loaded)
    limits = client.read("one:refunds", "references/limits.md")
    story.check("its file is read", "At most 50 euros." in text(limits), limits)
    until("the prompt", lambda: "one:refunds" in client.ask("prompts")["result"])
    prompt = client.ask("prompt", name="one:refunds")["result"]
    kinds = [message["content"]["type"] for message in prompt["messages"]]
    story.check("the prompt is one text", kinds == ["text"], prompt)
    words = prompt["messages"][0]["content"]["text"]
    story.check("the prompt has the skill", "Origin: MCP server one" in words, prompt)

    write_skill(one, "Of one.", "At most 51 euros.\n")
    refused = until(
        "reads refuse the changed skill",
        lambda: (r := client.read("one:refunds", "references/limits.md")).get("isError") and r,
    )
    story.check("a change is refused", code(refused) == "changed", refused)
    renewed = client.load("one:refunds", YES)
    message = (renewed["form"] or {}).get("message", "")
    story.check("the difference is shown", "- At most 50 euros." in message, message)
    story.check("both ways", "+ At most 51 euros." in message, message)
    limits = client.read("one:refunds", "references/limits.md")
    story.check("and reads go on", "At most 51 euros." in text(limits), limits)
    unloaded = client.call("unload_skill", name="one:refunds")
    story.check("a skill is unloaded", "is unloaded" in text(unloaded), unloaded)


def command_line(story: Story, client: Client, binary: Path, home: Path) -> None:
    """What the user approves in a terminal meanwhile holds here too."""
    skillwire(binary, home, "approve", "two:refunds", "--yes")
    loaded = client.load("two:refunds")
    story.check("an approval in a terminal holds", "Of two." in text(loaded), loaded)


def stories(binary: Path, tally: Tally) -> None:
    for name, driver in clients().items():
        for era in ERAS:
            for transport in TRANSPORTS:
                story = Story()
                try:
                    tell(story, binary, driver, era, transport)
                except (Broken, OSError) as reason:
                    story.problems.append(str(reason))
                tally.add(f"{name}, {era}, {transport}", story.passed, story.problems)


def v1_surface(binary: Path, skills: Path, tally: Tally) -> None:
    """What is approved, seen by a client that knows the extension."""
    with scratch() as folder:
        home = Path(folder)
        with Server.skillwire(binary, skills) as url:
            skillwire(binary, home, "server", "add", "up", url)
            promised = {}
            for uri, files in inspector.manifest(binary, skills).items():
                skillwire(binary, home, "approve", f"up:{uri}", "--yes")
                passed_on = {passed(file): digest for file, digest in files.items()}
                promised[passed(uri)] = passed_on
            with bridged(binary, home, "http") as target:
                with TokenProxy(target["url"], target["token"]) as open_url:
                    pages = conformance.PAGE_SIZES[0]
                    conformance.check_at("bridge", open_url, pages, False, tally)
                    inspector.verify([open_url], "http", promised, tally)
            # A command of its own, so that the Inspector's home is not the bridge's.
            command = ["env", *(f"{k}={v}" for k, v in variables(home).items())]
            inspector.verify([*command, str(binary), "bridge"], "stdio", promised, tally)


def passed(uri: str) -> str:
    """The URI under which the bridge passes something on."""
    return uri.replace("skill://", "skill://up/", 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("skillwire", type=Path, help="the built program")
    parser.add_argument("skills", type=Path, help="a folder of skills to pass on")
    parser.add_argument("--stories-only", action="store_true", help="only the official clients")
    parser.add_argument("--v1-only", action="store_true", help="only what is passed on")
    arguments = parser.parse_args()
    tally = Tally("bridge")
    binary, skills = arguments.skillwire.resolve(), arguments.skills.resolve()
    try:
        if not arguments.v1_only:
            stories(binary, tally)
        if not arguments.stories_only:
            v1_surface(binary, skills, tally)
    except (Broken, OSError) as reason:
        tally.add("bridge", 0, [str(reason)])
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
