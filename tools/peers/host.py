#!/usr/bin/env python3
"""Checks the host side of a built skillwire with programs that other people wrote.

    python3 tools/peers/host.py target/release/skillwire \\
        target/release/examples/conformance-client examples/skills

The conformance suite plays a server that lies and watches what the example client reads. As a
positive control the same client must use every skill and read every file of an honest server. Then the program itself lists, approves, loads and verifies skills
of three independent servers; what is wrong with each of them is known and must be found, no more
and no less.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from inspector import manifest
from peers import HERE, Broken, Server, Tally, node, run_process, scratch, tool

VERSIONS = ["2026-07-28", "2025-11-25"]

# Client scenarios of the skills extension, with what the client is told besides the address.
SCENARIOS = {
    "sep-2640-client-no-prefetch": ["--approve-only"],
    "sep-2640-client-verify-digest": [],
    "sep-2640-client-verify-size": [],
    "sep-2640-client-verify-frontmatter": [],
}

SERVERS = HERE.parent.parent / "bench" / "peers"


def run_scenario(client: Path, scenario: str, version: str) -> list[str]:
    """Runs the suite once; what is wrong unless exactly one check passed and no other failed."""
    suite = tool("@modelcontextprotocol/conformance/dist/index.js")
    with scratch() as folder:
        command = [*suite, "client", "--command", " ".join([str(client), *SCENARIOS[scenario]])]
        command += ["--scenario", scenario, "--spec-version", version, "--force"]
        ended = run_process([*command, "--output-dir", folder], home=folder)
        results = list(Path(folder).glob("**/checks.json"))
        if len(results) != 1:
            raise Broken(f"the suite tested nothing:\n{ended.stdout}{ended.stderr}".rstrip())
        checks = json.loads(results[0].read_text(encoding="utf-8"))
    problems = [
        f"{c['status']} {c['name']}: {c.get('errorMessage') or c['description']}"
        for c in checks
        if c["status"] in {"FAILURE", "WARNING"}
    ]
    passed = sum(c["status"] == "SUCCESS" for c in checks)
    if passed != 1:
        problems.append(f"{passed} checks passed, expected 1")
    return problems


def read_everything(binary: Path, client: Path, skills: Path) -> list[str]:
    """The positive control: an honest server's skills are all used and their files all read."""
    promised = manifest(binary, skills)
    files = sum(len(resources) for resources in promised.values())
    expected = f"{len(promised)} skills used, {files} files read"
    with Server.skillwire(binary, skills) as url:
        said = run_process([str(client), url]).stdout.strip()
    return [] if said == expected else [f"the client said {said!r}, expected {expected!r}"]


@dataclass(frozen=True)
class Peer:
    """A server nobody here wrote, and everything that is known to be wrong with it.

    A finding is its demand, its reason, the skill's URI and the file or method it is about.
    """

    name: str
    command: Callable[[], list[str]]
    findings: set[tuple[str, str, str, str]] = field(default_factory=set)


def script(name: str) -> list[str]:
    return [node(), str(SERVERS / name)]


def python(name: str) -> list[str]:
    return [str(SERVERS / ".venv" / "bin" / "python"), str(SERVERS / name)]


# A cursor that it never gave is not noticed.
FORGED_CURSOR = ("should", "wrong_error_code", "", "skills/list")

PEERS = [
    Peer("@modelcontextprotocol/server", lambda: script("official.mjs")),
    Peer(
        "@olaservo/ext-skills",
        lambda: script("olaservo.mjs"),
        {
            # It puts the name of a file into the URI as it is, and a URI is ASCII.
            (
                "must",
                "resource_outside",
                "skill://csv-profiling/SKILL.md",
                "skill://csv-profiling/assets/café-receipts.csv",
            ),
            FORGED_CURSOR,
        },
    ),
    Peer("fastmcp", lambda: python("fastmcp_server.py"), {FORGED_CURSOR}),
]


class User:
    """Somebody who runs the program, with a home of their own."""

    def __init__(self, binary: Path, home: str) -> None:
        self.binary = binary
        self.home = home

    def run(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> str:
        variables = {"SKILLWIRE_HOME": str(Path(self.home) / "skillwire")}
        ended = run_process([str(self.binary), *arguments], self.home, variables)
        if ended.returncode not in codes:
            said = f"{ended.stdout}{ended.stderr}".strip()
            shown = " ".join(arguments[:2])
            raise Broken(f"`skillwire {shown}` ended with code {ended.returncode}:\n{said}")
        return ended.stdout

    def read(self, command: str, *arguments: str, codes: tuple[int, ...] = (0,)) -> dict:
        # In front, because what follows `--` belongs to the server.
        return json.loads(self.run(command, "--json", *arguments, codes=codes))


def use(user: User, peer: Peer, promised: dict[str, dict[str, str]], skills: Path) -> list[str]:
    """Lists, approves and loads every skill of a server with all its files, over HTTP."""
    unusable = {skill for _, _, skill, _ in peer.findings if skill}
    usable = {uri: files for uri, files in promised.items() if uri not in unusable}
    with Server([*peer.command(), str(skills), "--http"], speaks_on="stdout") as url:
        user.run("server", "add", "peer", url)
        listing = user.read("list", "--server", "peer")
        refused = {refusal["skill"].removeprefix("peer:") for refusal in listing["refused"]}
        problems = compared("listed", {skill["uri"] for skill in listing["skills"]}, set(usable))
        problems += compared("refused", refused, unusable)
        for uri in sorted(usable):
            handle = f"peer:{uri}"
            user.run("approve", handle, "--yes")
            supporting = [file for file in usable[uri] if file != uri]
            reads = [option for file in supporting for option in ("--read", file)]
            loaded = user.read("load", handle, *reads)
            blocks = {block["uri"] for block in loaded["blocks"]}
            problems += compared(f"{uri} loaded", blocks, set(usable[uri]))
    return problems


def verify(user: User, peer: Peer, promised: dict[str, dict[str, str]], skills: Path) -> list[str]:
    """Verifies a server over pipes, and compares what is found with what is known about it."""
    broken = any(demand == "must" for demand, *_ in peer.findings)
    code = 3 if broken else 0
    found = user.read("verify", "--", *peer.command(), str(skills), codes=(code,))
    unusable = {skill for _, _, skill, _ in peer.findings if skill}
    files = sum(len(files) for uri, files in promised.items() if uri not in unusable)
    problems = compared(
        "verified",
        {f"{found['skills']} skills", f"{found['files']} files"},
        {f"{len(promised) - len(unusable)} skills", f"{files} files"},
    )
    seen = {
        (
            finding["demand"],
            finding["reason"],
            finding.get("skill", "").removeprefix("target").removeprefix(":"),
            finding.get("file", ""),
        ): finding
        for finding in found["findings"]
    }
    problems += [f"unexpected: {seen[key]}" for key in sorted(seen.keys() - peer.findings)]
    problems += [f"not found: {' '.join(key)}" for key in sorted(peer.findings - seen.keys())]
    return problems


def compared(what: str, got: set[str], expected: set[str]) -> list[str]:
    """Says so when two sets differ."""
    if got == expected:
        return []
    return [f"{what}: too many {sorted(got - expected)}, missing {sorted(expected - got)}"]


def check(binary: Path, client: Path, skills: Path, tally: Tally) -> None:
    def attempt(title: str, work: Callable[[], list[str]], note: str = "") -> None:
        try:
            problems = work()
        except (Broken, OSError, ValueError, KeyError) as reason:
            problems = [f"{type(reason).__name__}: {reason}"]
        tally.add(title, int(not problems), problems, note)

    for version in VERSIONS:
        for scenario in SCENARIOS:
            attempt(f"{version}, {scenario}", lambda: run_scenario(client, scenario, version))
    attempt("an honest server", lambda: read_everything(binary, client, skills))
    promised = manifest(binary, skills)
    for peer in PEERS:
        with scratch() as home:
            user = User(binary, home)
            title = f"server {peer.name}"
            attempt(f"{title}, used", lambda: use(user, peer, promised, skills))
            note = f"known gaps: {len(peer.findings)}"
            attempt(f"{title}, verified", lambda: verify(user, peer, promised, skills), note)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("skillwire", type=Path, help="the built program")
    parser.add_argument("client", type=Path, help="the built example `conformance-client`")
    parser.add_argument("skills", type=Path, help="the folder of skills to serve")
    arguments = parser.parse_args()

    tally = Tally("host")
    try:
        check(
            arguments.skillwire.resolve(),
            arguments.client.resolve(),
            arguments.skills.resolve(),
            tally,
        )
    except (Broken, OSError) as reason:
        tally.add("host", 0, [str(reason)])
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
