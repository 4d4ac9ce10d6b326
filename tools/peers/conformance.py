#!/usr/bin/env python3
"""Checks a built skillwire with the MCP project's own conformance suite.

    python3 tools/peers/conformance.py target/release/skillwire examples/skills
    python3 tools/peers/conformance.py --server target/debug/examples/weather 127.0.0.1:0

With `--upstream`, a server is asked that passes on another one over the folder, with `--hub` a hub that
the skills were published to, and with `--behind-hub` a hub that passes such a server on, at `/mcp/u/LABEL` and at
`/mcp`; the counts are the same. The second form is for a server of one's own, which must write `listening on
URL` to standard error and has pages of 100. The suite ends with code 0 even when it tested nothing, so what
counts here is its list of checks: the skills scenarios must pass an exact number of them, every other scenario at least one, and
none may fail or warn.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from peers import (
    Broken,
    Hub,
    Server,
    Tally,
    mounts,
    pass_on,
    run_process,
    scratch,
    serve,
    tool,
    wait_for_skills,
)
from token_proxy import TokenProxy

PAGE_SIZES = [100, 2]

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
OLDER = "2025-06-18"

ENUMERATION = "sep-2640-skills-enumeration"

# Scenarios of the skills extension: on each version, the number of checks that must pass. They are
# on no version's own list, so the suite runs them only when told to.
SKILLS = {
    MODERN: {ENUMERATION: 32, "sep-2640-skills-manifest": 6, "sep-2640-skills-directory": 7},
    LEGACY: {ENUMERATION: 30, "sep-2640-skills-manifest": 6, "sep-2640-skills-directory": 7},
}

# Checks of file manifests, which entries that say "dynamic" do not have.
OF_MANIFESTS = 6

# Scenarios of the base protocol, on every version the suite has them for.
BASE = {
    "resources-list": [MODERN, LEGACY, OLDER],
    "dns-rebinding-protection": [MODERN, LEGACY],
    "sep-2164-resource-not-found": [MODERN],
    "caching": [MODERN],
    "http-header-validation": [MODERN],
    "server-sse-multiple-streams": [MODERN, LEGACY],
    "server-initialize": [LEGACY, OLDER],
    "ping": [LEGACY, OLDER],
}

# Checks that call a tool. The suite reports them as failed when the server lists none, with a mark
# that says so; without that mark, or for a server that has tools, a failure is a failure.
NEED_A_TOOL = {
    ("http-header-validation", "ServerRejectsMismatchedNameHeader"),
    ("http-header-validation", "ServerAcceptsWhitespaceHeaderValue"),
    ("http-header-validation", "ServerRejectsMissingNameHeader"),
}


@dataclass(frozen=True)
class Run:
    """One scenario on one protocol version; `passed` is exact, or None for at least one."""

    scenario: str
    version: str
    passed: int | None = None


def plan(dynamic: bool) -> list[Run]:
    """Every run; `dynamic` when no entry of the server has a file manifest."""
    skills = [
        Run(scenario, version, passed - OF_MANIFESTS * (dynamic and scenario == ENUMERATION))
        for version, scenarios in SKILLS.items()
        for scenario, passed in scenarios.items()
    ]
    base = [Run(scenario, version) for scenario, versions in BASE.items() for version in versions]
    return skills + base


def run_scenario(suite: list[str], url: str, run: Run) -> list[dict]:
    """Runs the suite once and returns its checks."""
    with scratch() as folder:
        command = [*suite, "server", "--url", url, "--scenario", run.scenario]
        command += ["--spec-version", run.version, "--output-dir", folder]
        if run.passed is not None:
            command.append("--force")
        ended = run_process(command, home=folder)
        results = list(Path(folder).glob("*/checks.json"))
        if len(results) != 1:
            raise Broken(f"the suite tested nothing:\n{ended.stdout}{ended.stderr}".rstrip())
        return json.loads(results[0].read_text(encoding="utf-8"))


def is_untestable(run: Run, check: dict) -> bool:
    marked = (check.get("details") or {}).get("untestable") is True
    return marked and (run.scenario, check["name"]) in NEED_A_TOOL


def pages_problem(checks: list[dict], page_size: int) -> str | None:
    """Says so when the listing did not come in the pages that were asked for."""
    details = next(c["details"] for c in checks if c["id"] == "sep-2640-skills-list-implemented")
    expected = math.ceil(details["entries"] / page_size)
    if details["pages"] == expected:
        return None
    return f"{details['entries']} skills came in {details['pages']} pages, expected {expected}"


def judge(
    run: Run, checks: list[dict], page_size: int, has_tools: bool
) -> tuple[int, list[str], str]:
    """The number of passed checks, what is wrong, and a note for the line."""
    failed = [] if has_tools else [c for c in checks if c["status"] == "FAILURE"]
    untestable = [c for c in failed if is_untestable(run, c)]
    wrong = [c for c in checks if c["status"] in {"FAILURE", "WARNING"} and c not in untestable]
    statuses = Counter(c["status"] for c in checks)
    passed = statuses["SUCCESS"]

    problems = [
        f"{c['status']} {c['name']}: {c.get('errorMessage') or c['description']}" for c in wrong
    ]
    if run.passed is not None and passed != run.passed:
        skipped = ", ".join(c["name"] for c in checks if c["status"] == "SKIPPED") or "none"
        problems.append(f"{passed} checks passed, expected {run.passed} (skipped: {skipped})")
    if run.passed is None and passed == 0:
        problems.append("no check passed")
    if run.scenario == ENUMERATION and not problems:
        problems += filter(None, [pages_problem(checks, page_size)])

    note = f"{len(untestable)} not testable without tools" if untestable else ""
    return passed, problems, note


def check_at(
    title: str, url: str, page_size: int, dynamic: bool, tally: Tally, has_tools: bool = False
) -> None:
    """Checks a server that listens already."""
    suite = tool("@modelcontextprotocol/conformance/dist/index.js")
    for run in plan(dynamic):
        try:
            result = judge(run, run_scenario(suite, url, run), page_size, has_tools)
        except Broken as reason:
            result = 0, [str(reason)], ""
        tally.add(f"{title}, {run.version}, {run.scenario}", *result)


def check(
    title: str,
    command: list[str],
    page_size: int,
    dynamic: bool,
    tally: Tally,
    variables: dict[str, str] | None = None,
    has_tools: bool = False,
) -> None:
    try:
        with Server(command, variables=variables) as url:
            check_at(title, url, page_size, dynamic, tally, has_tools)
    except Broken as reason:
        tally.add(f"{title}, server", 0, [str(reason)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("skillwire", type=Path, nargs="?", help="the built program")
    parser.add_argument("skills", type=Path, nargs="?", help="the folder of skills to serve")
    parser.add_argument("--dynamic", action="store_true", help="all skills are generated")
    parser.add_argument("--upstream", action="store_true", help="through one server more")
    parser.add_argument("--hub", action="store_true", help="through a hub that the skills are published to")
    parser.add_argument("--behind-hub", action="store_true", help="through both addresses of an upstream of a hub")
    parser.add_argument("--server", nargs=argparse.REMAINDER, help="a server's command line")
    arguments = parser.parse_args()
    if bool(arguments.server) == bool(arguments.skills):
        parser.error("name a program and a folder of skills, or a server's command line")

    tally = Tally("conformance")
    try:
        if command := arguments.server:
            check(Path(command[0]).name, command, PAGE_SIZES[0], arguments.dynamic, tally)
        else:
            binary, skills = arguments.skillwire.resolve(), arguments.skills.resolve()
            if arguments.upstream:
                with scratch() as home:
                    command = [*pass_on(binary, skills, home), "--http", "127.0.0.1:0"]
                    variables = {"SKILLWIRE_HOME": home}
                    check("passed on", command, PAGE_SIZES[0], False, tally, variables)
                return tally.close()
            if arguments.behind_hub:
                with scratch() as home:
                    hub = Hub(binary, home)
                    hub.put_behind(skills)
                    with hub as url:
                        for title, mount in mounts(url):
                            # The suite cannot send a token.
                            with TokenProxy(mount, hub.reader) as proxied:
                                wait_for_skills(proxied)
                                check_at(title, proxied, PAGE_SIZES[0], False, tally, has_tools=True)
                return tally.close()
            if arguments.hub:
                with scratch() as home:
                    hub = Hub(binary, home)
                    hub.fill(skills)
                    # The suite cannot send a token.
                    with hub as url, TokenProxy(url, hub.reader) as proxied:
                        check_at("hub", proxied, PAGE_SIZES[0], False, tally, has_tools=True)
                return tally.close()
            for page_size in PAGE_SIZES:
                command = serve(binary, skills, "--page-size", str(page_size))
                check(f"page size {page_size}", command, page_size, False, tally, has_tools=True)
    except (Broken, OSError) as reason:
        tally.add("conformance suite", 0, [str(reason)])
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
