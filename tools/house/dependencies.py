"""The table of DEPENDENCIES.md: one row for each direct dependency, and which of our crates use it.

`house.py --write` fills the second column in from the manifests; `house.py --check` says what is missing,
twice there, no longer used, or out of date.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from pathlib import Path

PAGE = "DEPENDENCIES.md"
# A crate that more of ours use than this is used everywhere.
MOST_NAMED = 8


def users(root: Path) -> dict[str, set[str]]:
    """For each dependency of a build, the crates that name it, under the names readers use."""
    found: dict[str, set[str]] = defaultdict(set)
    for manifest in sorted(root.glob("crates/*/Cargo.toml")):
        table = tomllib.loads(manifest.read_text(encoding="utf-8"))
        name = table["package"]["name"]
        short = "the program" if name == "skillwire" else name.removeprefix("skillwire-")
        for part in [table, *table.get("target", {}).values()]:
            for kind in ("dependencies", "build-dependencies"):
                for dependency in part.get(kind, {}):
                    if not dependency.startswith("skillwire"):
                        found[dependency].add(short)
    return found


def words(names: set[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"{len(names)} crates"
    return ", ".join(sorted(names, key=lambda name: (name == "the program", name)))


def rows(lines: list[str]) -> list[tuple[int, list[str], list[str]]]:
    """The rows of the first table: line, crates of the row, all cells."""
    found = []
    for number, line in enumerate(lines):
        if line.startswith("## "):
            break
        cells = [cell.strip() for cell in line.strip("|\n").split(" | ")]
        if len(cells) == 4 and cells[0].lstrip("| ").startswith("`"):
            found.append((number, re.findall(r"`([^`]+)`", cells[0]), cells))
    return found


def filled(root: Path) -> tuple[str, str]:
    """The page as it is, and as the manifests want it."""
    text = (root / PAGE).read_text(encoding="utf-8")
    lines = text.splitlines()
    used = users(root)
    for number, named, cells in rows(lines):
        cells[1] = words(set().union(*(used.get(name, set()) for name in named)))
        lines[number] = "| " + " | ".join(cell.strip("| ") for cell in cells) + " |"
    return text, "\n".join(lines) + "\n"


def check(root: Path) -> list[str]:
    text, wanted = filled(root)
    counted: dict[str, int] = defaultdict(int)
    for _, named, _ in rows(text.splitlines()):
        for name in named:
            counted[name] += 1
    used = users(root)
    problems = [f"{PAGE}: `{name}` has no row." for name in sorted(used) if not counted[name]]
    problems += [f"{PAGE}: `{name}` has {times} rows." for name, times in counted.items() if times > 1]
    problems += [f"{PAGE}: nothing uses `{name}`." for name in counted if name not in used]
    if not problems and text != wanted:
        problems.append(f"{PAGE}: the second column is out of date; run `python3 tools/house/house.py --write`.")
    return problems


def write(root: Path) -> None:
    (root / PAGE).write_text(filled(root)[1], encoding="utf-8")
