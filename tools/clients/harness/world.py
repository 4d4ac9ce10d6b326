"""A scratch home for one client: skills, approvals, configuration, and a process that always ends."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCENARIO_SECONDS = 60
# The number of Linux for "orphans below this process become its children".
PR_SET_CHILD_SUBREAPER = 36
SERVER = "skillwire"
LABEL = "examples"
LONG_FILE = "references/observations.txt"
LONG_LINES = 6000


class Broken(Exception):
    """A run could not be carried out; the message says why."""


@dataclass(frozen=True)
class Entry:
    """The MCP server as it stands in a client's configuration."""

    command: str
    args: list[str]
    env: dict[str, str]

    @property
    def line(self) -> list[str]:
        return [self.command, *self.args]


@dataclass
class World:
    """One home directory with what the runs of one client need."""

    folder: Path
    binary: Path
    examples: Path
    home: Path = field(init=False)
    work: Path = field(init=False)
    skills: Path = field(init=False)

    def __post_init__(self) -> None:
        self.home, self.work = self.folder / "home", self.folder / "work"
        self.skills = self.folder / "skills"
        for made in (self.home, self.work, self.folder / "tmp"):
            made.mkdir(parents=True, exist_ok=True)
        shutil.copytree(self.examples, self.skills)
        long = self.skills / "csv-profiling" / LONG_FILE
        lines = (f"Observation {number:05} of the long file.\n" for number in range(LONG_LINES))
        long.write_text("".join(lines), encoding="utf-8")

    @property
    def skillwire_home(self) -> Path:
        return self.home / "skillwire"

    def bridge(self) -> Entry:
        return Entry(str(self.binary), ["bridge"], self.variables())

    def serve(self) -> Entry:
        return Entry(str(self.binary), ["serve", str(self.skills)], self.variables())

    def variables(self) -> dict[str, str]:
        return {"SKILLWIRE_HOME": str(self.skillwire_home), "HOME": str(self.home)}

    def skillwire(self, *arguments: str) -> str:
        """Runs the program as the user would in a terminal of this home."""
        ended = subprocess.run(
            [str(self.binary), *arguments],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SCENARIO_SECONDS,
            cwd=self.work,
            env=os.environ | self.variables() | {"NO_COLOR": "1"},
        )
        if ended.returncode != 0:
            told = ended.stdout + ended.stderr
            raise Broken(f"`skillwire {' '.join(arguments)}` ended with {ended.returncode}:\n{told}")
        return ended.stdout

    def prepare(self) -> None:
        """Adds one server over the examples, and approves one skill of it."""
        command = [str(self.binary), "serve", str(self.skills)]
        self.skillwire("server", "add", LABEL, "--", *command)
        self.approve("csv-profiling")

    def approve(self, name: str, *grants: str) -> None:
        self.skillwire("approve", f"{LABEL}:{name}", "--yes", *grants)

    def state(self, name: str) -> str:
        """Where a skill stands for the user."""
        listed = json.loads(self.skillwire("list", "--json"))
        skills = listed["skills"] if isinstance(listed, dict) else listed
        for skill in skills:
            if json.dumps(skill).find(f"{LABEL}:{name}") >= 0 or skill.get("name") == name:
                return str(skill.get("state") or skill.get("status"))
        return "unknown"

    def write(self, path: str, content: str | dict[str, Any]) -> Path:
        """Writes a file below the home; data becomes JSON."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, indent=2)
        file.write_text(text, encoding="utf-8")
        return file

    def environment(self, model: str, extra: dict[str, str], path: Sequence[Path]) -> dict[str, str]:
        """The variables a client gets: a home of its own, and no way out but through the model."""
        places = [str(place) for place in path] + ["/usr/local/bin", "/usr/bin", "/bin"]
        return {
            "PATH": os.pathsep.join(places),
            "HOME": str(self.home),
            "USER": "clients",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "SHELL": "/bin/sh",
            "TMPDIR": str(self.folder / "tmp"),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            "DO_NOT_TRACK": "1",
            **{name: model for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")},
            **{name: model for name in ("http_proxy", "https_proxy", "all_proxy")},
            **{name: "127.0.0.1,localhost" for name in ("NO_PROXY", "no_proxy")},
            **extra,
        }


@dataclass(frozen=True)
class Ended:
    """How a client's process ended."""

    code: int | None
    output: str
    log: str

    @property
    def tail(self) -> str:
        return (self.output[-1500:] + "\n" + self.log[-1500:]).strip()


def adopt_orphans() -> None:
    """Makes helpers that a client detaches children of this process, so that they can be ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> list[int]:
    """The processes whose parent this one is."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == str(os.getpid()):
            found.append(int(stat.parent.name))
    return found


def run_client(command: list[str], environment: dict[str, str], work: Path, logs: Path) -> Ended:
    """Runs a client in a process group of its own, and ends the whole group."""
    logs.mkdir(parents=True, exist_ok=True)
    out, err = logs / "stdout", logs / "stderr"
    adopt_orphans()
    others = children()
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=environment,
            cwd=work,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(SCENARIO_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            end_group(process, others)
    return Ended(code, read_text(out), read_text(err))


def end_group(process: subprocess.Popen[bytes], others: list[int]) -> None:
    """Ends what is left of a client: its group, and helpers that it detached, by their ids."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    for _ in range(10):
        orphans = [child for child in children() if child not in others]
        if not orphans:
            return
        for orphan in orphans:
            try:
                os.kill(orphan, signal.SIGKILL)
                os.waitpid(orphan, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
