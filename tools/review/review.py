#!/usr/bin/env python3
"""Says for each row of the second review what shows it today.

    python3 tools/review/review.py            # prints the tables
    python3 tools/review/review.py --write    # puts them into docs/review-2.md
    python3 tools/review/review.py --check    # for CI: the file is up to date and no row is open

`rows.tsv` beside this file has the rows and the sentences for those that no test of this workspace
shows. Rules come from `docs/requirements.tsv` and tests from their names, as `tools/uncovered-rows.py`
reads both. The table names files without lines, so that it changes only when a test does.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ROWS = HERE / "rows.tsv"
DOCUMENT = ROOT / "docs" / "review-2.md"

FAMILIES = {
    "P": "What the original documents ask",
    "CL": "Skillwire inside real agent clients",
    "FU": "Skillwire as a first-time user met it",
    "SEC": "Server, host and bridge, attacked from outside",
    "RS": "Skillwire on real public skills",
}

INTRODUCTION = """# The second review, row by row

Each table has the rows of one part of the review: what was seen, the rule that holds since then
([requirements.tsv](requirements.tsv)), and the tests that show it, by name. A row without a test has a
sentence instead. `tools/clients` stands where real agent clients show a row as well ([clients.md](clients.md)). `python3 tools/review/review.py --write` makes this file; CI checks that it is current.

That a test fails without what it shows is recorded for `skillwire-core` and for what verifies, approves, opens windows and caches
in `skillwire-host` only ([mutants/core.md](mutants/core.md), [mutants/host.md](mutants/host.md)). Of the rows about hostile peers,
SEC-05 to SEC-07 and SEC-18 have tests of that code; for SEC-01 to SEC-04, SEC-08 to SEC-17, SEC-19 and SEC-20 no failing run is
recorded.
"""


@dataclass(frozen=True)
class Seen:
    """A row of the review; `note` is empty where tests say everything."""

    id: str
    text: str
    note: str


def uncovered_rows() -> ModuleType:
    """The sibling that reads rules and tests; its name is no Python identifier."""
    path = ROOT / "tools" / "uncovered-rows.py"
    spec = importlib.util.spec_from_file_location("uncovered_rows", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def client_checks() -> list:
    """What the runs of real agent clients check."""
    sys.path.insert(0, str(ROOT / "tools" / "clients"))
    from harness.scenarios import CHECKS

    return CHECKS


def read_seen() -> list[Seen]:
    lines = ROWS.read_text(encoding="utf-8").splitlines()
    fields = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [Seen(row, text, "" if note == "-" else note) for row, text, note in fields]


class Tables:
    """The rows with what shows them."""

    def __init__(self) -> None:
        reader = uncovered_rows()
        rows = reader.read_rows(reader.TABLE)
        self.rules = {row.id: row for row in rows}
        self.coverage = reader.measure(rows, reader.find_tests(ROOT), reader.read_documents(ROOT))
        self.seen = read_seen()
        self.checks = client_checks()

    def shown_by(self, row_id: str) -> list[str]:
        """The tests and documents that show a row."""
        tests = self.coverage.tests.get(row_id, [])
        shown = [f"`{test.name}` ({test.place.rpartition(':')[0]})" for test in tests]
        rule = self.rules.get(row_id)
        if rule and rule.who == "docs":
            shown += [f"[{path}](../{path})" for path in self.coverage.documents[row_id]]
        return sorted(shown)

    def played_in_clients(self, row_id: str) -> list[str]:
        """The checks of `tools/clients` that show a row in real agent clients."""
        names = [check.name for check in self.checks if row_id in check.rows]
        return [f"`tools/clients`: {', '.join(names)}"] if names else []

    def open(self) -> list[Seen]:
        """The rows that neither a test nor a sentence accounts for."""
        return [row for row in self.seen if not row.note and not self.shown_by(row.id)]

    def missing(self) -> list[str]:
        """Rules of these families that `rows.tsv` does not know."""
        known = {row.id for row in self.seen}
        return [
            rule for rule in self.rules if rule.rpartition("-")[0] in FAMILIES and rule not in known
        ]

    def markdown(self) -> str:
        parts = [INTRODUCTION]
        for family, title in FAMILIES.items():
            rows = [row for row in self.seen if row.id.rpartition("-")[0] == family]
            by_test = sum(bool(self.shown_by(row.id)) for row in rows)
            lines = [f"## {title}", "", f"{len(rows)} rows, {by_test} shown by tests or documents.", ""]
            lines += ["| row | seen then | holds now | shown by |", "|---|---|---|---|"]
            lines += [self.line(row) for row in rows]
            parts.append("\n".join(lines) + "\n")
        return "\n".join(parts)

    def line(self, row: Seen) -> str:
        rule = self.rules[row.id].text if row.id in self.rules else ""
        shown = self.shown_by(row.id) + self.played_in_clients(row.id)
        shown += [row.note] if row.note else []
        cells = [row.id, row.text, rule, "<br>".join(shown) or "**open**"]
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def check(tables: Tables) -> int:
    problems = [f"{row.id}: neither a test nor a sentence: {row.text}" for row in tables.open()]
    problems += [f"{rule} is in requirements.tsv and not in {ROWS.name}" for rule in tables.missing()]
    written = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.exists() else ""
    if written != tables.markdown():
        problems.append("docs/review-2.md is out of date; run `python3 tools/review/review.py --write`")
    for problem in problems:
        print(problem)
    print(f"{len(tables.seen)} rows of the review, {len(problems)} problems")
    return 1 if problems else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write docs/review-2.md")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a row is open")
    arguments = parser.parse_args()
    tables = Tables()
    if arguments.write:
        DOCUMENT.write_text(tables.markdown(), encoding="utf-8")
    if arguments.check:
        return check(tables)
    if not arguments.write:
        print(tables.markdown(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
