#!/usr/bin/env python3
"""Lists the rows of `docs/requirements.tsv` that no test and no document shows.

A test shows the rows that its function's name ends with: `foreign_pages_are_left_out_srv_97_v_21`
shows SRV-97 and V-21. Only what stands in the source is seen: `#[test]` and `#[tokio::test]` functions
below `crates/`, also inside `proptest!`, but not functions whose name a macro makes up. A test
that is ignored, even on some platforms only, shows nothing.

Exits with 1 when a row is not shown or a test names a row that does not exist, and with 2 when the
table cannot be read.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "requirements.tsv"
# Made from the table and the tests, so that it shows nothing by itself.
REVIEW = ROOT / "docs" / "review-2.md"

ROW_ID = re.compile(r"[A-Z]+-\d{2,}")
FAMILIES = "ar|b|cl|c|fmt|fu|gw|g|hst|h|lad|p|rs|sec|srv|v"
# The rows at the end of a test's name; a dialect such as `d7` may stand among them.
NAMED_ROWS = re.compile(rf"(?:_(?:(?:{FAMILIES})_\d+|d\d+))+$")
NAMED_ROW = re.compile(rf"_({FAMILIES})_(\d+)")
LEADING_ROW = re.compile(rf"(?:{FAMILIES})_\d{{2,}}_")

# What may hold text that only looks like code: comments, strings and characters.
NOT_CODE = re.compile(
    r"""
      //[^\n]*
    | (?P<block>/\*)
    | \b(?:r|br|cr)(?P<hashes>\#*)".*?"(?P=hashes)
    | "(?:\\.|[^"\\])*"
    | '(?:\\u\{[^}]*\}|\\x..|\\.|[^\\'\n])'
    """,
    re.VERBOSE | re.DOTALL,
)
BLOCK_MARK = re.compile(r"/\*|\*/")
BRACKET = re.compile(r"[\[\]]")
ATTRIBUTE_START = re.compile(r"\s*#\s*\[")
FUNCTION = re.compile(r"\s*(?:pub\s*(?:\([^)]*\)\s*)?)?(?:(?:async|const|unsafe)\s+)*fn\s+(\w+)")
TEST_ATTRIBUTE = re.compile(r"(?:::\s*)?(?:\w+\s*::\s*)*test\s*(?:\(.*\))?", re.DOTALL)
IGNORE_ATTRIBUTE = re.compile(r"ignore\b|cfg_attr\b.*,\s*ignore\b", re.DOTALL)


class BadTable(Exception):
    """The table of rows cannot be used; the message says why."""


@dataclass(frozen=True)
class Row:
    """One rule, and what has to show it: `test` or `docs`."""

    id: str
    level: str
    who: str
    text: str

    def __str__(self) -> str:
        return f"{self.id:<8}{self.level:<11}{self.text}"


@dataclass(frozen=True)
class Test:
    """One test function and the rows its name ends with."""

    name: str
    place: str
    rows: tuple[str, ...]


@dataclass(frozen=True)
class Coverage:
    """Which rows are shown, by what."""

    rows: list[Row]
    tests: dict[str, list[Test]]
    documents: dict[str, list[str]]
    unknown: list[tuple[Test, str]]
    misnamed: list[Test]

    def is_shown(self, row: Row) -> bool:
        return bool(self.documents[row.id] if row.who == "docs" else self.tests[row.id])

    def shown_by(self, who: str) -> int:
        return sum(row.who == who and self.is_shown(row) for row in self.rows)

    def uncovered(self) -> list[Row]:
        return [row for row in self.rows if not self.is_shown(row)]


def read_rows(table: Path) -> list[Row]:
    """Reads the table, and insists on its form."""
    try:
        lines = table.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadTable(f"cannot read {table}: {error}") from error
    rows: dict[str, Row] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        row = parse_row(line, f"{table}:{number}")
        if row.id in rows:
            raise BadTable(f"{table}:{number}: {row.id} stands here a second time")
        rows[row.id] = row
    if not rows:
        raise BadTable(f"{table}: there are no rows")
    return list(rows.values())


def parse_row(line: str, place: str) -> Row:
    """Reads one line of the table."""
    fields = line.split("\t")
    if len(fields) != 4 or not all(field.strip() for field in fields):
        raise BadTable(f"{place}: a row is id, level, who and rule, separated by tabs")
    row = Row(*fields)
    if not ROW_ID.fullmatch(row.id):
        raise BadTable(f"{place}: `{row.id}` is not an id such as SRV-57")
    if row.who not in ("test", "docs"):
        raise BadTable(f"{place}: `{row.who}` is neither `test` nor `docs`")
    return row


def code_only(source: str) -> str:
    """Blanks out comments, strings and characters; every line stays where it is."""
    pieces: list[str] = []
    position = 0
    while found := NOT_CODE.search(source, position):
        end = block_comment_end(source, found.start()) if found["block"] else found.end()
        pieces.append(source[position : found.start()])
        pieces.append(re.sub(r"[^\n]", " ", source[found.start() : end]))
        position = end
    return "".join(pieces) + source[position:]


def block_comment_end(source: str, start: int) -> int:
    """The end of the block comment at `start`; such comments nest."""
    depth = 0
    for mark in BLOCK_MARK.finditer(source, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(source)


def attributes(code: str, position: int) -> tuple[list[str], int]:
    """The attributes that stand one after the other at `position`, and where they end."""
    found: list[str] = []
    while start := ATTRIBUTE_START.match(code, position):
        position = attribute_end(code, start.end())
        found.append(code[start.end() : position - 1].strip())
    return found, position


def attribute_end(code: str, position: int) -> int:
    """The place behind the bracket that closes the one before `position`."""
    depth = 1
    for bracket in BRACKET.finditer(code, position):
        depth += 1 if bracket[0] == "[" else -1
        if depth == 0:
            return bracket.end()
    return len(code)


def is_live_test(found: list[str]) -> bool:
    """Tells whether a function with these attributes is a test that always runs."""
    return any(TEST_ATTRIBUTE.fullmatch(attribute) for attribute in found) and not any(
        IGNORE_ATTRIBUTE.match(attribute) for attribute in found
    )


def live_tests(source: str) -> Iterator[tuple[str, int]]:
    """The names of the tests in a source file that always run, with their lines."""
    code = code_only(source)
    position = 0
    while start := ATTRIBUTE_START.search(code, position):
        found, position = attributes(code, start.start())
        function = FUNCTION.match(code, position)
        if function and is_live_test(found):
            yield function[1], code.count("\n", 0, function.start(1)) + 1


def rows_named(name: str) -> tuple[str, ...]:
    """The ids that a test's name ends with."""
    named = NAMED_ROWS.search(name)
    if not named:
        return ()
    return tuple(f"{found[1].upper()}-{found[2]}" for found in NAMED_ROW.finditer(named[0]))


def find_tests(root: Path) -> list[Test]:
    """Every test below `crates/` that always runs."""
    tests: list[Test] = []
    for path in sorted((root / "crates").rglob("*.rs")):
        place = path.relative_to(root)
        if "target" in place.parts or not path.is_file():
            continue
        for name, line in live_tests(path.read_text(encoding="utf-8")):
            tests.append(Test(name, f"{place.as_posix()}:{line}", rows_named(name)))
    return tests


def read_documents(root: Path) -> dict[str, str]:
    """The text of each document that may show a row, by its path."""
    paths = [root / "README.md", root / "ARCHITECTURE.md", *sorted((root / "docs").rglob("*"))]
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in paths
        if path.is_file() and path not in (TABLE, REVIEW)
    }


def mentions(text: str, row_id: str) -> bool:
    """Tells whether a text has the id as a word of its own: `SRV-36` does not mention `V-36`."""
    return re.search(rf"(?<![\w-]){re.escape(row_id)}(?![\w-])", text) is not None


def measure(rows: list[Row], tests: list[Test], documents: dict[str, str]) -> Coverage:
    """Brings rows together with what shows them."""
    shown: dict[str, list[Test]] = {row.id: [] for row in rows}
    unknown: list[tuple[Test, str]] = []
    for test in tests:
        for row_id in dict.fromkeys(test.rows):
            if row_id in shown:
                shown[row_id].append(test)
            else:
                unknown.append((test, row_id))
    mentioned = {
        row.id: [path for path, text in documents.items() if mentions(text, row.id)]
        for row in rows
        if row.who == "docs"
    }
    misnamed = [test for test in tests if LEADING_ROW.match(test.name)]
    return Coverage(rows, shown, mentioned, unknown, misnamed)


def print_list(coverage: Coverage) -> None:
    """Prints each row with what shows it."""
    for row in coverage.rows:
        print(row)
        for test in coverage.tests[row.id]:
            print(f"        {test.place} {test.name}")
        for path in coverage.documents.get(row.id, []):
            print(f"        {path}")
        if not coverage.is_shown(row):
            print(f"        UNCOVERED: {what_lacks(row)}")


def print_uncovered(coverage: Coverage) -> None:
    """Prints the rows that nothing shows."""
    for row in coverage.uncovered():
        print(row if row.who == "test" else f"{row} ({what_lacks(row)})")


def what_lacks(row: Row) -> str:
    return "no document mentions it" if row.who == "docs" else "no test names it"


def print_end(coverage: Coverage) -> None:
    """Prints names of rows that do not exist, and the counts."""
    for test in coverage.misnamed:
        print(f"{test.place}: `{test.name}` begins with a row; rows stand at the end of a name")
    for test, row_id in coverage.unknown:
        print(f"{test.place}: `{test.name}` names {row_id}, which is not in the table")
    print(
        f"{len(coverage.rows)} rows, {coverage.shown_by('test')} shown by tests, "
        f"{coverage.shown_by('docs')} shown by documents, {len(coverage.uncovered())} uncovered"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Lists the required rows that nothing shows.")
    parser.add_argument("--list", action="store_true", help="print each row with what shows it")
    arguments = parser.parse_args()
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` is no failure
    try:
        rows = read_rows(TABLE)
    except BadTable as error:
        print(f"uncovered-rows: {error}", file=sys.stderr)
        return 2
    coverage = measure(rows, find_tests(ROOT), read_documents(ROOT))
    if arguments.list:
        print_list(coverage)
    else:
        print_uncovered(coverage)
    print_end(coverage)
    return 1 if coverage.uncovered() or coverage.unknown or coverage.misnamed else 0


if __name__ == "__main__":
    sys.exit(main())
