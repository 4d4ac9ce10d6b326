#!/usr/bin/env python3
"""Check a postmortem draft for gaps, blame and vague action items.

Looks at form only: required sections, leftover placeholders, blaming phrases,
and an action table whose items have a kind, an owner, a date and a result.
"""

import argparse
import re
import sys
from datetime import date
from pathlib import Path

SECTIONS = ("Summary", "Impact", "Timeline", "Contributing factors", "Action items")
KINDS = ("prevent", "detect", "recover", "learn")
BLAME = {
    r"human error": "ask what made the error easy to make or hard to notice",
    r"(?:should|could|ought to) have": "describe what happened, not what did not",
    r"failed to|neglected to|forgot to": "say what was done and what it looked like then",
    r"careless(?:ly)?|negligen\w+|sloppy|incompeten\w+": "describe the situation, not the person",
    r"(?:the )?root cause (?:is|was)": "list contributing factors; several conditions had to meet",
    r"obvious(?:ly)?|simply|of course": "it was not obvious at the time",
}
VAGUE = re.compile(
    r"^(?:be(?:come)? more|improve|consider|remind|raise awareness|try to|look into|investigate"
    r"|think about|be careful|ensure that everyone)\b", re.I)
UNSET = {"", "-", "?", "tbd", "todo", "n/a", "none", "team", "everyone", "all"}


def sections(lines):
    """Yield (title, level, first line number, body lines)."""
    title, level, start, body = None, 0, 0, []
    fenced = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        match = None if fenced else re.match(r"(#{1,6})\s+(.+?)\s*#*$", line)
        if match:
            if title is not None:
                yield title, level, start, body
            title, level, start, body = match[2], len(match[1]), number, []
        else:
            body.append((number, line))
    if title is not None:
        yield title, level, start, body


def cells(line):
    """Split a Markdown table row, leaving escaped pipes alone."""
    return [c.strip() for c in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def check_actions(body, heading_line):
    rows = [(n, cells(line)) for n, line in body if line.strip().startswith("|")]
    if len(rows) < 3:
        yield heading_line, "'Action items' has no table with at least one item"
        return
    header = [c.lower() for c in rows[0][1]]
    columns = {}
    for wanted in ("action", "kind", "owner", "due"):
        found = [i for i, name in enumerate(header) if name.startswith(wanted)]
        if not found:
            yield rows[0][0], f"the action table has no column '{wanted.capitalize()}'"
            return
        columns[wanted] = found[0]
    kinds = set()
    for number, row in rows[2:]:
        if len(row) != len(header):
            yield number, f"the row has {len(row)} cells, the header has {len(header)}"
            continue
        action, kind, owner, due = (row[columns[c]] for c in ("action", "kind", "owner", "due"))
        if VAGUE.match(action) or len(action.split()) < 4:
            yield number, f"'{action}' has no result that somebody else could check"
        if kind.lower() not in KINDS:
            yield number, f"kind '{kind}' is not one of {', '.join(KINDS)}"
        kinds.add(kind.lower())
        if owner.lower() in UNSET:
            yield number, "the owner must be one person"
        try:
            date.fromisoformat(due)
        except ValueError:
            yield number, f"due '{due}' is not a date such as 2026-06-12"
    if not kinds & {"detect", "recover"}:
        yield heading_line, "no item shortens detection or recovery"


def check(text):
    """Yield (line number, message) for each finding."""
    lines = text.splitlines()
    parts = list(sections(lines))
    for number, line in enumerate(lines, 1):
        if "{{" in line:
            yield number, "a placeholder is left: " + line.strip()[:60]
        for pattern, advice in BLAME.items():
            if match := re.search(rf"\b(?:{pattern})\b", line, re.I):
                yield number, f"'{match[0]}': {advice}"
    for wanted in SECTIONS:
        hits = [i for i, part in enumerate(parts) if part[0].lower() == wanted.lower()]
        if not hits:
            yield 1, f"the section '{wanted}' is missing"
            continue
        index = hits[0]
        _, level, start, body = parts[index]
        content = list(body)
        for _, inner_level, _, inner in parts[index + 1:]:
            if inner_level <= level:
                break
            content += inner
        if not any(line.strip() for _, line in content):
            yield start, f"the section '{wanted}' is empty"
        elif wanted == "Action items":
            yield from check_actions(content, start)
        elif wanted == "Timeline" and not any("utc" in line.lower() for _, line in content):
            yield start, "the timeline does not say that its times are UTC"
        elif wanted == "Impact" and not any(re.search(r"\d", line) for _, line in content):
            yield start, "the impact has no number"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="exit status: 0 nothing found, 1 findings, 2 cannot read the draft",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("draft", help="Markdown file, or - for standard input")
    args = parser.parse_args()
    try:
        text = sys.stdin.read() if args.draft == "-" else Path(args.draft).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        print(f"check_postmortem: {args.draft}: {error}", file=sys.stderr)
        return 2
    findings = sorted(check(text))
    for number, message in findings:
        print(f"{args.draft}:{number}: {message}")
    print(f"{len(findings)} finding{'' if len(findings) == 1 else 's'}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
