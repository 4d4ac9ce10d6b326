#!/usr/bin/env python3
"""Publishes to a hub and uses what was published with programs that other people wrote.

    python3 tools/peers/hub.py target/release/skillwire

A skill is published with the program, then read and loaded by the official clients of both languages in both eras,
by our own host, and installed by npm `skills` from the well-known address. Then a workflow publishes with the token of
npm `oidc-provider`, and with tokens that must be refused. The npm packages come from `npm ci --ignore-scripts` in this
folder, the Python client from `bash bench/peers/install`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from bridge import ERAS, Client, clients
from host import User, compared
from peers import HERE, Broken, Hub, Server, Tally, node, run_process, scratch, tool

SKILL = """---
name: refunds
description: Refund by the book. Use when money goes back.
---

Read `references/limits.md` first. The word is {word}.
"""
LIMITS = "Nobody refunds more than was paid.\n"
URI = f"skill://{Hub.namespace}/refunds/SKILL.md"


def write_skill(home: str, word: str) -> Path:
    folder = Path(home) / "refunds"
    (folder / "references").mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(SKILL.format(word=word))
    (folder / "references" / "limits.md").write_text(LIMITS)
    return folder


def text_of(result: dict) -> str:
    return "".join(part.get("text", "") for part in result.get("contents", result.get("content", [])))


def official(driver: list[str], era: str, url: str, hub: Hub, home: str) -> list[str]:
    """Reads a file and loads the skill with one of the official clients."""
    problems = []
    settings = {"era": era, "forms": False, "url": url, "token": hub.reader}
    with Client(driver, settings, Path(home)) as client:
        tools = client.ask("tools").get("result", [])
        problems += compared("tools", {"list_skills", "load_skill", "read_skill_file"} - set(tools), set())
        loaded = text_of(client.call("load_skill", name="refunds"))
        if "The word is second" not in loaded:
            problems.append(f"`load_skill` returned {loaded[:200]!r}")
        told = client.ask("read", uri=URI.replace("SKILL.md", "references/limits.md"))
        if text_of(told.get("result", {})) != LIMITS:
            problems.append(f"the file was not read: {told}")
        pinned = client.ask("read", uri=f"skill://{Hub.namespace}/_v/1.0.0/refunds/SKILL.md")
        if "The word is first" not in text_of(pinned.get("result", {})):
            problems.append(f"the first version was not read: {pinned}")
    return problems


def our_host(binary: Path, url: str, hub: Hub, home: str) -> list[str]:
    """Approves and loads the skill with our own host, which compares every digest."""
    user = User(binary, home)
    token = Path(home) / "reader-token"
    token.write_text(hub.reader)
    user.run("server", "add", "hub", url, "--bearer-token-file", str(token))
    listing = user.read("list", "--server", "hub")
    problems = compared("listed", {skill["uri"] for skill in listing["skills"]}, {URI})
    user.run("approve", f"hub:{URI}", "--yes")
    loaded = user.read("load", f"hub:{URI}", "--read", URI.replace("SKILL.md", "references/limits.md"))
    blocks = {block["uri"]: block for block in loaded["blocks"]}
    problems += compared("loaded", set(blocks), {URI, URI.replace("SKILL.md", "references/limits.md")})
    return problems


def installed(url: str, hub: Hub, home: str) -> list[str]:
    """Installs the skill from the well-known address, which shows public namespaces."""
    hub.run("hub", "namespace", "grant", Hub.namespace, "*", "reader", "--hub", str(hub.folder))
    origin = urlsplit(url)._replace(path="").geturl()
    command = [*tool("skills/bin/cli.mjs"), "add", origin, "--skill", "*", "--agent", "claude-code"]
    variables = {"DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1", "CI": "1"}
    for _ in range(20):
        ended = run_process([*command, "--copy", "--yes"], home=home, variables=variables)
        folder = Path(home) / ".claude" / "skills" / "refunds"
        if folder.is_dir():
            break
    else:
        return [f"nothing was installed:\n{ended.stdout}{ended.stderr}".strip()]
    found = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}
    expected = {"SKILL.md": SKILL.format(word="second"), "references/limits.md": LIMITS}
    return [] if found == expected else [f"installed were {sorted(found)}, and not what was published"]


def published_skill(binary: Path, tally: Tally) -> None:
    with scratch() as home:
        hub = Hub(binary, home)
        with hub as url:
            origin = urlsplit(url)._replace(path="").geturl()
            token = Path(home) / "token"
            token.write_text(hub.token)
            hub.run("login", origin, "--token-file", str(token))
            for word in ["first", "second"]:
                folder = write_skill(home, word)
                hub.run("publish", str(folder), "--namespace", Hub.namespace, "--yes")
            for name, driver in clients().items():
                for era in ERAS:
                    attempt(tally, f"{name}, {era}", lambda: official(driver, era, url, hub, home))
            attempt(tally, "our host", lambda: our_host(binary, url, hub, home))
            attempt(tally, "npm skills, from the well-known address", lambda: installed(url, hub, home))


def attempt(tally: Tally, title: str, work: Callable[[], list[str]]) -> None:
    try:
        problems = work()
    except (Broken, OSError, ValueError, KeyError) as reason:
        problems = [f"{type(reason).__name__}: {reason}"]
    tally.add(title, int(not problems), problems)


def access_token(issuer: str, client: str, audience: str) -> str:
    """A token of the provider for a workflow, by the grant for programs."""
    form = {"grant_type": "client_credentials", "client_id": client, "client_secret": "secret", "resource": audience}
    request = urllib.request.Request(f"{issuer}/token", urllib.parse.urlencode(form).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["access_token"]


def upload(origin: str, token: str, archive: bytes) -> tuple[int, dict]:
    path = f"/api/v1/skills/{Hub.namespace}/refunds/versions"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/gzip"}
    request = urllib.request.Request(origin + path, archive, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


AUDIENCE = "urn:skillwire:hub"


def workflow(binary: Path) -> list[str]:
    """Publishes with tokens of an independent provider: one that fits, and several that do not."""
    problems = []
    provider = [node(), str(HERE / "oidc.mjs")]
    with scratch() as home, Server(provider, speaks_on="stdout") as at:
        issuer = at.removesuffix("/mcp")
        configuration = f'private-issuers = ["{issuer}"]\n'
        hub = Hub(binary, home, configuration)
        file = hub.folder / "hub.toml"
        file.write_text(file.read_text().replace('audience = "skillwire-hub"', f'audience = "{AUDIENCE}"'))
        trust = ["hub", "namespace", "trust", Hub.namespace, "--issuer", issuer, "--hub", str(hub.folder)]
        claims = ["--claim", "repository=acme/skills", "--claim", "ref=refs/heads/main"]
        hub.run(*trust, *claims)
        hub.run("pack", str(write_skill(home, "workflow")), "--out", str(Path(home) / "refunds.tar.gz"))
        archive = (Path(home) / "refunds.tar.gz").read_bytes()
        with hub as url:
            origin = urlsplit(url)._replace(path="").geturl()
            for title, client, audience, expected in [
                ("another repository", "other-repository", AUDIENCE, 401),
                ("another branch", "other-branch", AUDIENCE, 401),
                ("another audience", "workflow", "urn:another", 401),
                ("the trusted workflow", "workflow", AUDIENCE, 201),
                ("the same again", "workflow", AUDIENCE, 200),
            ]:
                status, answer = upload(origin, access_token(issuer, client, audience), archive)
                if status != expected:
                    problems.append(f"{title}: HTTP status {status}, expected {expected}: {answer}")
            token = access_token(issuer, "workflow", AUDIENCE)
            forged = token[:-8] + ("AAAAAAAA" if not token.endswith("AAAAAAAA") else "BBBBBBBB")
            if (status := upload(origin, forged, archive)[0]) != 401:
                problems.append(f"a forged token: HTTP status {status}")
            # As the documentation says it: the token is the login of the workflow.
            (Path(home) / "ci-token").write_text(token)
            hub.run("login", origin, "--token-file", str(Path(home) / "ci-token"))
            folder = write_skill(home, "by the program")
            told = json.loads(hub.run("publish", str(folder), "--namespace", Hub.namespace, "--yes", "--json"))
            digest = hashlib.sha256((folder / "SKILL.md").read_bytes()).hexdigest()
            if f"sha256:{digest}" not in json.dumps(told):
                problems.append(f"the program published something else: {told}")
        log = json.loads(hub.run("hub", "audit", "--action", "publish", "--hub", str(hub.folder), "--json"))
        made = json.loads(log[-1]["details"])["provenance"]
        if (log[-1]["actor"], made["method"], made["source"]) != ("ci@peers", "oidc", "acme/skills"):
            problems.append(f"the log does not say who published: {log[-1]}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("skillwire", type=Path, help="the built program, with the feature `hub`")
    arguments = parser.parse_args()
    tally = Tally("hub")
    binary = arguments.skillwire.resolve()
    try:
        published_skill(binary, tally)
        attempt(tally, "a workflow with tokens of npm oidc-provider", lambda: workflow(binary))
    except (Broken, OSError) as reason:
        tally.add("hub", 0, [str(reason)])
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
