#!/usr/bin/env python3
"""Checks what a built skillwire serves in older dialects with clients that other people wrote.

    bash tools/peers/install-dialects
    python3 tools/peers/dialects_serve.py target/release/skillwire examples/skills

FastMCP 3 lists, downloads and syncs skills by its `_manifest` (D7); npm `skills` installs them from
`/.well-known/` (D11). Every file they end up with must have the digest that `skillwire manifest`
names. With `--hub`, a hub serves them that the skills were published to, in a public namespace.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from inspector import manifest
from peers import HERE, Broken, Hub, Server, Tally, run_process, scratch, tool

PYTHON = HERE / ".venv" / "bin" / "python"

FASTMCP = """
import asyncio, pathlib, sys
from fastmcp import Client
from fastmcp.utilities.skills import download_skill, list_skills, sync_skills

async def main(url, folder):
    folder = pathlib.Path(folder)
    async with Client(url) as client:
        skills = await list_skills(client)
        for skill in skills:
            # A skill inside another one comes with it as well.
            await download_skill(client, skill.name, folder / "downloaded", overwrite=True)
        await sync_skills(client, folder / "synced", overwrite=True)
    print("\\n".join(sorted(skill.uri for skill in skills)))

asyncio.run(main(*sys.argv[1:]))
"""


def digests(folder: Path) -> dict[str, str]:
    """Every file below a folder: its path to its digest."""
    return {
        path.relative_to(folder).as_posix(): "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def expected(promised: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """For each skill's path, the digest of each of its files."""
    found = {}
    for uri, files in promised.items():
        root = uri.removesuffix("SKILL.md")
        path = unquote(root.removeprefix("skill://").rstrip("/"))
        found[path] = {unquote(file.removeprefix(root)): digest for file, digest in files.items()}
    return found


def differences(where: str, found: dict[str, str], wanted: dict[str, str]) -> list[str]:
    """What is missing, wrong or too much."""
    problems = [f"{where}: {path} is missing" for path in wanted.keys() - found.keys()]
    problems += [f"{where}: {path} is not served" for path in found.keys() - wanted.keys()]
    common = wanted.keys() & found.keys()
    problems += [f"{where}: {path} differs" for path in common if found[path] != wanted[path]]
    return sorted(problems)


def below(skills: dict[str, dict[str, str]]) -> dict[str, str]:
    """The files of all skills, each below the path of its skill."""
    return {f"{skill}/{file}": d for skill, files in skills.items() for file, d in files.items()}


def fastmcp(url: str, wanted: dict[str, dict[str, str]]) -> tuple[int, list[str]]:
    """Downloads everything with FastMCP's own helpers."""
    if not PYTHON.is_file():
        raise Broken(f"{PYTHON} is missing; run `bash tools/peers/install-dialects`")
    with scratch() as folder:
        ended = run_process([str(PYTHON), "-c", FASTMCP, url, folder], home=folder)
        if ended.returncode != 0:
            return 0, [f"{ended.stdout}{ended.stderr}".strip()]
        listed = ended.stdout.split()
        problems = [] if len(listed) == len(wanted) else [f"{len(listed)} skills were listed"]
        for way in ["downloaded", "synced"]:
            problems += differences(way, digests(Path(folder) / way), below(wanted))
        return 2 * len(below(wanted)) - len(problems), problems


def well_known(url: str, wanted: dict[str, dict[str, str]]) -> tuple[int, list[str]]:
    """Installs everything with npm `skills`."""
    command = tool("skills/bin/cli.mjs")
    with scratch() as home:
        origin = urlsplit(url)._replace(path="").geturl()
        options = ["--skill", "*", "--agent", "claude-code", "--copy", "--yes"]
        variables = {"DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1", "CI": "1"}
        ended = run_process([*command, "add", origin, *options], home=home, variables=variables)
        installed = Path(home) / ".claude" / "skills"
        if not installed.is_dir():
            return 0, [f"nothing was installed:\n{ended.stdout}{ended.stderr}".strip()]
        by_name = {path.rsplit("/", 1)[-1]: files for path, files in wanted.items()}
        problems = differences("installed", digests(installed), below(by_name))
        return len(below(by_name)) - len(problems), problems


def published(hub: Hub, skills: Path, wanted: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Publishes skills for everyone; returns what is expected of those that the hub took."""
    taken = hub.fill(skills)
    hub.run("hub", "namespace", "grant", Hub.namespace, "*", "reader", "--hub", str(hub.folder))
    by_name = {path.rsplit("/", 1)[-1]: files for path, files in wanted.items()}
    return {f"{Hub.namespace}/{name}": files for name, files in by_name.items() if name in taken}


def nameable(skills: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """The skills that the index with paths lists, which is the only one of a hub: all names of their files are plain."""
    plain = re.compile(r"[ !\"$->@-Z^-~]+")
    return {skill: files for skill, files in skills.items() if all(map(plain.fullmatch, files))}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=Path)
    parser.add_argument("skills", type=Path)
    parser.add_argument("--hub", action="store_true", help="through a hub that the skills are published to")
    args = parser.parse_args()
    binary, skills = args.binary.resolve(), args.skills.resolve()
    wanted = expected(manifest(args.binary, args.skills))
    checks = [("fastmcp 3", fastmcp, []), ("npm skills", well_known, ["--public", "**"])]
    if args.hub:
        tally = Tally("older dialects of a hub")
        with scratch() as home:
            hub = Hub(binary, home)
            wanted = published(hub, skills, wanted)
            with hub as url:
                tally.add("fastmcp 3", *fastmcp(url, wanted))
                tally.add("npm skills", *well_known(url, nameable(wanted)))
        return tally.close()
    tally = Tally("older dialects")
    for title, check, options in checks:
        with Server.skillwire(binary, skills, *options) as url:
            tally.add(title, *check(url, wanted))
    return tally.close()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Broken as broken:
        sys.exit(f"broken: {broken}")
