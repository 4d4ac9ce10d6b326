#!/usr/bin/env python3
"""Writes the table of dialects and doors in `docs/dialects.md` from the names of tests.

A test `d5_command_line_lists_approves_loads_reads_notices` shows that skills of a D5 server are listed,
approved, loaded and read on the command line, and that a change is noticed. A step that is left out of a
name needs a reason: a line of the test's documentation that begins with the step and a colon.

    python3 tools/dialect-matrix.py            prints the table
    python3 tools/dialect-matrix.py --write    puts it into the document
    python3 tools/dialect-matrix.py --check    fails if the document has another one
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "crates" / "skillwire" / "tests" / "it" / "matrix"
DOCUMENT = ROOT / "docs" / "dialects.md"
BEGIN = "<!-- tools/dialect-matrix begins -->"
END = "<!-- tools/dialect-matrix ends -->"

DIALECTS = range(1, 13)
DOORS = {
    "command_line": "command line",
    "bridge_with_elicitation": "bridge, client asks",
    "bridge_without_elicitation": "bridge, client cannot ask",
    "upstream": "`serve --upstream`",
}
STEPS = {
    "lists": "list",
    "approves": "approve",
    "loads": "load",
    "reads": "read",
    "notices": "change",
}

TEST = re.compile(
    r"(?P<docs>(?:///[^\n]*\n)*)#\[tokio::test\]\nasync fn d(?P<dialect>\d+)_(?P<door>"
    + "|".join(sorted(DOORS, key=len, reverse=True))
    + r")_(?P<steps>\w+)\(\)"
)


def shown(text: str) -> dict[tuple[int, str], dict[str, str]]:
    """The steps that the tests of one file leave out, with the reasons, by dialect and door."""
    cells = {}
    for test in TEST.finditer(text):
        name = f"d{test['dialect']}_{test['door']}"
        steps = test["steps"].split("_")
        if unknown := [step for step in steps if step not in STEPS]:
            sys.exit(f"dialect-matrix: {name} shows {', '.join(unknown)}, which is no step")
        lines = [line.removeprefix("///").strip() for line in test["docs"].splitlines()]
        reasons = dict(line.split(": ", 1) for line in lines if line.split(":")[0] in STEPS)
        missing = [step for step in STEPS if step not in steps]
        if unexplained := [step for step in missing if step not in reasons]:
            sys.exit(f"dialect-matrix: {name} does not say why it lacks {', '.join(unexplained)}")
        cells[int(test["dialect"]), test["door"]] = {step: reasons[step] for step in missing}
    return cells


def table() -> str:
    cells = {}
    for file in sorted(TESTS.glob("*.rs")):
        cells |= shown(file.read_text(encoding="utf-8"))
    wanted = [(dialect, door) for dialect in DIALECTS for door in DOORS]
    if untested := [f"d{dialect}_{door}" for dialect, door in wanted if (dialect, door) not in cells]:
        sys.exit(f"dialect-matrix: no test shows {', '.join(untested)}")
    reasons: list[str] = []

    def word(step: str, left_out: dict[str, str]) -> str:
        if step not in left_out:
            return STEPS[step]
        if left_out[step] not in reasons:
            reasons.append(left_out[step])
        return f"({reasons.index(left_out[step]) + 1})"

    lines = ["| dialect | " + " | ".join(DOORS.values()) + " |", "|---" * (len(DOORS) + 1) + "|"]
    for dialect in DIALECTS:
        row = [", ".join(word(step, cells[dialect, door]) for step in STEPS) for door in DOORS]
        lines.append(f"| D{dialect} | {' | '.join(row)} |")
    lines.append("")
    lines += [f"({number}) {reason}." for number, reason in enumerate(reasons, start=1)]
    return "\n".join(lines)


def main() -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    if BEGIN not in document or END not in document:
        sys.exit(f"dialect-matrix: {DOCUMENT.name} has no place for the table")
    before, rest = document.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    new = f"{before}{BEGIN}\n{table()}\n{END}{after}"
    match sys.argv[1:]:
        case []:
            print(table())
        case ["--write"]:
            DOCUMENT.write_text(new, encoding="utf-8")
        case ["--check"]:
            if new != document:
                sys.exit("dialect-matrix: run `python3 tools/dialect-matrix.py --write`")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
