#!/usr/bin/env python3
"""Checks a built skillwire with the MCP Inspector, which reads every file and recomputes digests.

    python3 tools/peers/inspector.py target/release/skillwire examples/skills

Over HTTP and stdio, in both protocol eras, the Inspector must verify exactly the skills and files
that `skillwire manifest` names, with the digests it names. With `--upstream`, a server is asked that
passes on another one over the folder: the digests are the same, and the URIs say where they are from. With
`--hub`, the skills are published to a hub first, and read from it; with `--behind-hub`, they are read
through both addresses of an upstream of a hub.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from peers import (
    UPSTREAM,
    Broken,
    Hub,
    Server,
    Tally,
    mounts,
    pass_on,
    run_process,
    scratch,
    tool,
    wait_for_skills,
)
from token_proxy import TokenProxy

ERAS = ["modern", "legacy"]
VERIFY = ["--method", "skills/list", "--verify", "--require-digests", "--format", "json"]


def manifest(binary: Path, skills: Path) -> dict[str, dict[str, str]]:
    """What the server promises to serve: for each skill the digest of each of its files."""
    ended = run_process([str(binary), "manifest", str(skills), "--json"])
    try:
        entries = json.loads(ended.stdout)["skills"]
        promised = {e["uri"]: {r["uri"]: r["digest"] for r in e["resources"]} for e in entries}
    except (ValueError, KeyError, TypeError) as reason:
        said = f"{ended.stdout}{ended.stderr}".strip()
        raise Broken(f"`skillwire manifest` gave no manifest ({reason!r}):\n{said}") from reason
    if not promised:
        raise Broken(f"`skillwire manifest` names no skill in {skills}")
    return promised


def inspect(inspector: list[str], target: list[str], transport: str, era: str) -> list[dict]:
    """Runs the Inspector once and returns its report on each skill."""
    options = ["--transport", transport, "--protocol-era", era, *VERIFY]
    with scratch() as home:
        ended = run_process([*inspector, "--cli", *options, "--", *target], home=home)
    try:
        reports = [json.loads(line) for line in ended.stdout.splitlines()]
    except ValueError as reason:
        raise Broken(f"not one report per line ({reason}):\n{ended.stdout}") from reason
    if ended.returncode not in {0, 7, 8, 9} or not reports:
        said = f"{ended.stdout}{ended.stderr}".strip()
        raise Broken(f"the Inspector ended with code {ended.returncode}:\n{said}")
    if ended.returncode != 0 and all(report["outcome"] == "verified" for report in reports):
        raise Broken(f"the Inspector ended with code {ended.returncode}: {ended.stderr.strip()}")
    return reports


def faults(report: dict, promised: dict[str, str]) -> list[str]:
    """What is wrong with one skill, in the Inspector's words where it has some."""
    found = [f"{i['severity']} {i['code']}: {i['message']}" for i in report["conformance"]]
    found += [f"{i['severity']} {i['code']}: {i['message']}" for i in report["frontmatter"]]
    for file in report["files"]:
        if file["status"] != "verified":
            found.append(f"{file['uri']} {file['status']}: {file.get('reason', 'digest differs')}")
        elif file["actualDigest"] != promised.get(file["uri"]):
            found.append(f"{file['uri']} is {file['actualDigest']}, not as in the manifest")
    read = Counter(file["uri"] for file in report["files"])
    found += [f"{uri} was read {read[uri]} times" for uri in promised if read[uri] != 1]
    if report.get("incomplete"):
        found.append(report["incomplete"])
    if not found and report["outcome"] != "verified":
        found.append(f"the outcome is {report['outcome']}")
    return [f"{report['uri']}: {fault}" for fault in found]


def judge(reports: list[dict], promised: dict[str, dict[str, str]]) -> tuple[int, list[str], str]:
    """The number of skills verified without a fault, what is wrong, and a note for the line."""
    by_skill = [faults(report, promised.get(report["uri"], {})) for report in reports]
    problems = [fault for found in by_skill for fault in found]

    listed = Counter(report["uri"] for report in reports)
    problems += [
        f"{uri}: listed {listed[uri]} times, in the manifest {int(uri in promised)}"
        for uri in sorted(listed.keys() | promised.keys())
        if listed[uri] != int(uri in promised)
    ]
    note = f"{sum(len(report['files']) for report in reports)} files"
    return sum(not found for found in by_skill), problems, note


def passed_on(promised: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """The same under the URIs it is passed on under."""

    def down(uri: str) -> str:
        return uri.replace("skill://", f"skill://{UPSTREAM}/", 1)

    return {
        down(uri): {down(file): digest for file, digest in files.items()}
        for uri, files in promised.items()
    }


def verify(
    target: list[str],
    transport: str,
    promised: dict[str, dict[str, str]],
    tally: Tally,
    title: str = "",
) -> None:
    """Has everything read that a server promises, in both eras."""
    inspector = tool("@modelcontextprotocol/inspector/clients/launcher/build/index.js")
    for era in ERAS:
        try:
            result = judge(inspect(inspector, target, transport, era), promised)
        except Broken as reason:
            result = 0, [str(reason)], ""
        tally.add(f"{title}{transport}, {era}", *result)


def published(promised: dict[str, dict[str, str]], taken: set[str]) -> dict[str, dict[str, str]]:
    """The same under the URIs of a hub, for the skills that it took."""
    found = {}
    for uri, files in promised.items():
        root = uri.removesuffix("/SKILL.md")
        name = root.rpartition("/")[2]
        if name in taken:
            down = lambda file, root=root, name=name: file.replace(root, f"skill://{Hub.namespace}/{name}", 1)
            found[down(uri)] = {down(file): digest for file, digest in files.items()}
    return found


def behind_hub(binary: Path, skills: Path, tally: Tally) -> None:
    """Has everything read at both addresses of an upstream of a hub: untouched at one, prefixed at the other."""
    promised = manifest(binary, skills)
    with scratch() as home:
        hub = Hub(binary, home)
        hub.put_behind(skills)
        with hub as url:
            for (title, mount), expected in zip(mounts(url), [promised, passed_on(promised)]):
                # The Inspector's command line cannot send a token.
                with TokenProxy(mount, hub.reader) as proxied:
                    wait_for_skills(proxied)
                    verify([proxied], "http", expected, tally, f"{title}, ")


def check(binary: Path, skills: Path, tally: Tally, upstream: bool, through_hub: bool) -> None:
    promised = manifest(binary, skills)
    if through_hub:
        with scratch() as home:
            hub = Hub(binary, home)
            taken = hub.fill(skills)
            # The Inspector's command line cannot send a token.
            with hub as url, TokenProxy(url, hub.reader) as proxied:
                verify([proxied], "http", published(promised, taken), tally)
        return
    if upstream:
        with scratch() as home:
            command = [*pass_on(binary, skills, home), "--http", "127.0.0.1:0"]
            with Server(command, variables={"SKILLWIRE_HOME": home}) as url:
                verify([url], "http", passed_on(promised), tally)
        return
    with Server.skillwire(binary, skills) as url:
        verify([url], "http", promised, tally)
    verify([str(binary), "serve", str(skills)], "stdio", promised, tally)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("skillwire", type=Path, help="the built program")
    parser.add_argument("skills", type=Path, help="the folder of skills to serve")
    parser.add_argument("--upstream", action="store_true", help="through one server more")
    parser.add_argument("--hub", action="store_true", help="through a hub that the skills are published to")
    parser.add_argument("--behind-hub", action="store_true", help="through both addresses of an upstream of a hub")
    arguments = parser.parse_args()

    tally = Tally("inspector")
    try:
        binary, skills = arguments.skillwire.resolve(), arguments.skills.resolve()
        if arguments.behind_hub:
            behind_hub(binary, skills, tally)
            return tally.close()
        check(binary, skills, tally, arguments.upstream, arguments.hub)
    except (Broken, OSError) as reason:
        tally.add("inspector", 0, [str(reason)])
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
