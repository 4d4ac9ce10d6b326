#!/usr/bin/env python3
"""Uses skills of a server that other people wrote before the extension was released.

    bash tools/peers/install-dialects
    python3 tools/peers/dialects_consume.py target/release/skillwire examples/skills

FastMCP 3 offers skills as resources with a `_manifest`. Nothing is found without the user's word;
with it, every skill is listed in that dialect, two are approved and loaded with a file, and the server
is verified whole. Their digests are those that this script computed from the files themselves.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote

HERE = Path(__file__).resolve().parent
PYTHON = HERE / ".venv" / "bin" / "python"
SERVER = HERE / "fastmcp_server.py"


# FastMCP takes every file of a text type for UTF-8, and fails to read one that is not.
KNOWN = {("server_error", "skill://csv-profiling/assets/caf%C3%A9-receipts.csv")}


class Broken(Exception):
    """Something is not as it should be."""


def expect(condition: bool, problem: object) -> None:
    if not condition:
        raise Broken(str(problem))


class User:
    """Somebody with a state folder of their own."""

    def __init__(self, binary: Path, home: str) -> None:
        self.binary, self.home = binary.resolve(), home

    def run(self, *arguments: str, code: int = 0) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": self.home, "SKILLWIRE_HOME": self.home}
        ended = subprocess.run(
            [str(self.binary), *arguments],
            capture_output=True, text=True, timeout=120, env=environment, cwd=self.home, check=False,
        )
        expect(ended.returncode == code, f"{arguments}: {ended.returncode}\n{ended.stdout}{ended.stderr}")
        return ended.stdout

    def reads(self, *arguments: str, code: int = 0) -> dict:
        return json.loads(self.run(*arguments, "--json", code=code))


def flat_skills(skills: Path) -> dict[str, Path]:
    """FastMCP serves the skills directly below a folder."""
    return {place.parent.name: place.parent for place in sorted(skills.glob("*/SKILL.md"))}


def digests(folder: Path) -> dict[str, str]:
    """The digest of each file, computed from the file itself."""
    return {
        str(path.relative_to(folder)): "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def main() -> int:
    binary, skills = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    expected = flat_skills(skills)
    expect(bool(expected), f"no skills directly below {skills}")
    with tempfile.TemporaryDirectory() as home:
        user = User(binary, home)
        user.run("server", "add", "old", "--", str(PYTHON), str(SERVER), str(skills))
        refused = user.reads("list", "--server", "old", code=7)
        expect(refused["reason"] == "skills_not_offered", refused)
        user.run("server", "allow-legacy", "old")
        listed = user.reads("list", "--server", "old")
        expect([s["dialect"] for s in listed["servers"]] == ["D7"], listed["servers"])
        names = {skill["name"] for skill in listed["skills"]}
        refused_names = [refusal.get("file") for refusal in listed["refused"]]
        expect(names == set(expected), f"{names} and {refused_names}, not {set(expected)}")
        # Every command starts the server anew, so two skills are used and all are verified.
        for name in list(expected)[:2]:
            folder = expected[name]
            shown = user.reads("show", f"old:{name}")
            expect(shown["first_seen"] is False, shown)
            promised = {
                unquote(resource["uri"].split(f"skill://{name}/")[1]): resource["digest"]
                for resource in shown["entry"]["resources"]
            }
            actual = digests(folder)
            expect(promised == actual, f"{name}: {promised} is not {actual}")
            user.run("approve", f"old:{name}", "--yes")
            others = [path for path in actual if path != "SKILL.md"]
            options = [option for path in others[:1] for option in ("--read", path)]
            loaded = user.reads("load", f"old:{name}", *options)
            expect(loaded["dialect"] == "D7", loaded["dialect"])
            expect((folder / "SKILL.md").read_text() in loaded["blocks"][0]["text"], name)
            expect(len(loaded["blocks"]) == 1 + len(others[:1]), name)
        files = sum(len(digests(folder)) for folder in expected.values())
        verified = user.reads("verify", "old", code=3)
        found = {(finding["reason"], finding["file"]) for finding in verified["findings"]}
        expect(verified["dialect"] == "D7" and found == KNOWN, verified)
        files -= len(KNOWN)
        expect(verified["files"] == files, f"{verified['files']} files, not {files}")
    print(f"FastMCP 3: {len(expected)} skills listed, two approved and loaded, {files} files verified")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Broken as problem:
        print(f"FastMCP 3: {problem}", file=sys.stderr)
        sys.exit(1)
