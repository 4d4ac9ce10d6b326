#!/usr/bin/env python3
"""Compares `skillwire check --compare reference` with the real reference validator.

Usage: compare.py SKILLWIRE [--skills N] [--seed N] [--report FILE]

Makes skills with every kind of mistake from a seed, asks both about each, and prints how often they
agree: on whether a skill is refused, and on the reasons. Exits with 1 when they disagree about any
skill. `--report` writes the table as Markdown.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from importlib.metadata import version
from pathlib import Path

from skills_ref.validator import validate

# What the real one says, as the reason it stands for.
REASONS = [
    (r"must start with YAML frontmatter", "no frontmatter"),
    (r"not properly closed", "frontmatter not closed"),
    (r"Invalid YAML", "YAML refused"),
    (r"must be a YAML mapping", "not a mapping"),
    (r"Unexpected fields", "unknown field"),
    (r"Missing required field in frontmatter: name", "no name"),
    (r"Missing required field in frontmatter: description", "no description"),
    (r"'description' must be a non-empty", "no description"),
    (r"Description exceeds", "description too long"),
    (r"'name' must be a non-empty", "name invalid"),
    (r"Skill name", "name invalid"),
    (r"must match skill name", "name is not the directory's"),
    (r"Compatibility exceeds", "compatibility too long"),
    (r"'compatibility' must be a string", "compatibility not text"),
    (r"Missing required file", "no SKILL.md"),
]

# The same for our codes; a complaint without a code is one about YAML.
CODES = {
    "frontmatter-missing": "no frontmatter",
    "byte-order-mark": "no frontmatter",
    "frontmatter-unclosed": "frontmatter not closed",
    "frontmatter-not-a-mapping": "not a mapping",
    "frontmatter-not-utf8": "ends with an exception",
    "unknown-key": "unknown field",
    "name-missing": "no name",
    "name-invalid": "name invalid",
    "name-not-directory": "name is not the directory's",
    "description-missing": "no description",
    "description-too-long": "description too long",
    "compatibility-invalid": "compatibility not text",
    "compatibility-too-long": "compatibility too long",
    "skill-file-case": "no SKILL.md",
}


def real_reasons(folder: Path) -> Counter[str]:
    try:
        messages = validate(folder)
    except UnicodeDecodeError:
        return Counter(["ends with an exception"])
    except Exception:
        # Characters that YAML forbids end it with an exception of the parser's own.
        return Counter(["YAML refused"])
    reasons = Counter()
    for message in messages:
        found = [reason for pattern, reason in REASONS if re.search(pattern, message)]
        reasons[found[0] if found else f"unknown message: {message}"] += 1
    return reasons


def model_reasons(complaints: list[dict]) -> Counter[str]:
    return Counter(CODES.get(complaint["code"], "YAML refused") for complaint in complaints)


NAMES = ["{dir}"] * 12 + [
    "other", "PDF", "a_b", "a--b", "-{dir}", "{dir}-", "été", "123", "yes", "null", "~", '""', "'  '",
    '"{dir}"', "'{dir}'", "a b", "a.b", "x" * 65, "[a]", "{a: b}", "|\n  {dir}", "\n  - a", "\n  a: b", "",
    "ﬁx", "ǅ", "日本", "{dir} # comment", "{dir}\n ", "é",
]
DESCRIPTIONS = ["Does things. Use when asked."] * 10 + [
    "", "~", "null", '""', '"   "', "x" * 1024, "x" * 1025, "é" * 1025, "a --- b", '"a --- b"',
    "a: b", "'a: b'", "|\n  two\n  lines", ">\n  folded\n  text", "- a", "\n  - a", "[a]", "{a: b}",
    "*x", "&x y", "!!str x", "@x", "`x`", "%x", "# only a comment", "a # b", '"open', "'it''s'", "a\n  b",
    "a\nb", "\ttab", "a\tb", "🙂 smiles", "1.0", "2026-01-31", "\"a\\nb\"", "\"bad \\q\"", "? x", ": x", "a:", "a: ",
]
EXTRA = [
    "license: MIT", "license:", "license: [MIT]", "license: *l", "license: |\n  a\n  b",
    "compatibility: Needs Python.", "compatibility: \"\"", "compatibility: " + "y" * 500,
    "compatibility: " + "y" * 501, "compatibility:\n  - a", "compatibility:\n  a: b", "compatibility: 3",
    "metadata:\n  a: b", "metadata:\n  a: 1\n  b: yes", "metadata: {a: b}", "metadata: {}", "metadata:",
    "metadata: text", "metadata:\n  a:\n    b: c\n  d:\n    e: f", "metadata:\n  a:\n    b: c\n  d:\n      e: f",
    "metadata:\n  - a\n  - b", "metadata:\n  a: b\n  a: c", "metadata:\n\ta: b", "metadata:\n  a: b\n c: d",
    "metadata:\n  1: b", "metadata:\n  - a: b\n  -   c: d", "metadata:\n  a: b: c",
    "allowed-tools: Read Grep", "allowed-tools: Read, Grep", "allowed-tools: [Read]", "allowed-tools: Bash(git:*)",
    "version: 1.0", "hooks:\n  stop: x", "on: yes", "1: one", "name: again", "? complex\n: key", "&a anchored: x",
    "!!str tagged: x", "<<: x", "<<:\n  a: b", "\"quoted\": x", "'single': x", "key without colon", "- item",
    "...", "%YAML 1.2", "# comment", "   # indented comment", "", "license: a\x07b", "license: \"\\x07\"", "a b: c",
    "license: 'a\n  b'", "tags:\n- a\n- b", "tags:\n  - a\n - b", "license: a \\\n  b", "license: >-\n   a\n    b\n",
]


def skill(rng: random.Random, name: str) -> tuple[str, bytes]:
    """A file name and what is in it."""
    lines = []
    if rng.random() < 0.95:
        lines.append(f"name: {rng.choice(NAMES)}".replace("{dir}", name))
    if rng.random() < 0.95:
        lines.append(f"description: {rng.choice(DESCRIPTIONS)}")
    lines += rng.choices(EXTRA, k=rng.choice([0, 0, 0, 1, 1, 2, 3]))
    if rng.random() < 0.2:
        rng.shuffle(lines)
    opening = rng.choice(["---"] * 20 + ["--- ", "----", " ---", "", "# Title\n---", "\n---", "---yaml"])
    closing = rng.choice(["---"] * 20 + ["--- ", "----", " ---", "", "...", "--"])
    body = rng.choice(["# Body\n", "", "text\n---\nmore\n", "a --- b\n"])
    text = "\n".join([opening, *lines, closing, body])
    end = rng.choice(["\n"] * 8 + ["\r\n", "\r"])
    data = text.replace("\n", end).encode()
    data = rng.choice([b""] * 20 + [b"\xef\xbb\xbf"]) + data
    if rng.random() < 0.01:
        data += b"\xff"
    return rng.choice(["SKILL.md"] * 30 + ["skill.md", "Skill.md"]), data


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("skillwire")
    parser.add_argument("--skills", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as root:
        folders = [Path(root) / f"s{number}" for number in range(options.skills)]
        for folder in folders:
            folder.mkdir()
            name, data = skill(rng, folder.name)
            (folder / name).write_bytes(data)
        command = [options.skillwire, "check", "--compare", "reference", "--format", "json", root]
        ran = subprocess.run(command, capture_output=True, check=False)
        refused = json.loads(ran.stdout)["reference"]["refused"]
        model = {Path(skill["origin"]).name: model_reasons(skill["complaints"]) for skill in refused}
        rows: dict[str, Counter[str]] = {}
        differences = []
        for folder in folders:
            real, ours = real_reasons(folder), model.get(folder.name, Counter())
            for reason in real.keys() | ours.keys():
                row = rows.setdefault(reason, Counter())
                row["real"] += reason in real
                row["model"] += reason in ours
                row["both"] += reason in real and reason in ours
            if real != ours:
                text = next(folder.iterdir()).read_bytes()
                differences.append((folder.name, dict(real), dict(ours), text))
        accepted = sum(1 for folder in folders if folder.name not in model)
    table = [
        "| reason | the validator | the model | both |",
        "|---|---:|---:|---:|",
        *(
            f"| {reason} | {row['real']} | {row['model']} | {row['both']} |"
            for reason, row in sorted(rows.items())
        ),
    ]
    verdict = (
        f"`skills-ref` {version('skills-ref')}, seed {options.seed}: {options.skills} skills, of which the "
        f"model accepts {accepted}; {len(differences)} judged differently."
    )
    print(verdict, *table, sep="\n")
    for name, real, ours, text in differences[:20]:
        print(f"\n{name}: the validator says {real}, the model {ours}, of {text!r}")
    if options.report:
        write_report(Path(options.report), verdict, table)
    return 1 if differences else 0


def write_report(path: Path, verdict: str, table: list[str]) -> None:
    text = [
        "# Agreement with the reference validator",
        "",
        "`skillwire check --compare reference` answers from a model of the reference validator. This is how",
        "the model compares with the real one over generated skills with every kind of mistake, each counted",
        "once for every reason. To make it again:",
        "",
        "```",
        "tools/reference-agreement/run target/release/skillwire --report docs/reference-agreement.md",
        "```",
        "",
        verdict,
        "",
        *table,
    ]
    path.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    sys.exit(main())
