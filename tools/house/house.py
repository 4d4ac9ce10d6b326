#!/usr/bin/env python3
"""Counts what makes this tree easy or hard to work in, and fails where a limit is passed.

    python3 tools/house/house.py              # the table of docs/contributing.md, as Markdown
    python3 tools/house/house.py --write      # the same, put into that file, and users into DEPENDENCIES.md
    python3 tools/house/house.py --check      # the limits, for CI; exit code 1 if one is passed
    python3 tools/house/house.py --json       # every number, also for each crate
    python3 tools/house/house.py --root DIR   # another tree with `crates/*/src`

`models.json` beside this file has the numbers of other projects and the limits. Rust is read line by
line, not parsed: the numbers are exact enough to see a trend, and the same rules count every tree.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import dependencies

HERE = Path(__file__).resolve().parent

# What the table of docs/contributing.md stands between.
BEGIN, END = "<!-- tools/house begins -->\n", "<!-- tools/house ends -->"

TYPE = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?:struct|enum|trait|union|type) ([A-Z]\w*)")
HUMP = re.compile(r"[A-Z][a-z0-9]*")
VAGUE = re.compile(r"\b(somebody|nobody|whoever)\b", re.IGNORECASE)
# Two or more names that are bound to as many values at once, only to save lines.
TUPLE_LET = re.compile(r"\blet \((?:mut )?\w+(?:, (?:mut )?\w+)+\) =\s*\(")
FENCE = re.compile(r"^\s*//[/!] ?```(.*)$")
# Words that keep rustdoc from running an example.
NOT_RUN = {"text", "json", "toml", "yaml", "sh", "shell", "console", "ignore", "markdown", "none"}
TEST_MODULE = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?mod \w+ \{$")


@dataclass
class Source:
    """One file: its lines, and the same without unit tests."""

    path: Path
    lines: list[str]
    own: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Source:
        lines = path.read_text(encoding="utf-8").splitlines()
        return cls(path, lines, without_tests(path, lines))


def without_tests(path: Path, lines: list[str]) -> list[str]:
    """Drops modules behind `#[cfg(test)]`, and files that are such modules by their name."""
    if path.name in ("tests.rs", "testing.rs") or "tests" in path.parts[-2:-1]:
        return []
    kept, index = [], 0
    while index < len(lines):
        line = lines[index]
        if line.strip().startswith("#[cfg(") and "test" in line and index + 1 < len(lines):
            following = index + 1
            while following < len(lines) and lines[following].strip().startswith("#["):
                following += 1
            if following < len(lines) and TEST_MODULE.match(lines[following]):
                indent = len(lines[following]) - len(lines[following].lstrip())
                closing = " " * indent + "}"
                index = following
                while index < len(lines) and lines[index] != closing:
                    index += 1
                index += 1
                continue
        kept.append(line)
        index += 1
    return kept


def crates(root: Path) -> dict[str, list[Source]]:
    return {
        folder.name: [Source.read(path) for path in sorted((folder / "src").rglob("*.rs"))]
        for folder in sorted((root / "crates").iterdir())
        if (folder / "src").is_dir()
    }


def is_comment(line: str) -> bool:
    text = line.strip()
    return text.startswith("//") and not text.startswith(("///", "//!"))


def is_code(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith("//")


def fences(lines: list[str]) -> int:
    """Counts examples that rustdoc runs."""
    count, is_open = 0, False
    for line in lines:
        match = FENCE.match(line)
        if not match:
            continue
        if not is_open:
            words = {word.strip() for word in match.group(1).split(",") if word.strip()}
            count += not words & NOT_RUN
        is_open = not is_open
    return count


def measure(sources: list[Source]) -> dict[str, float]:
    """The numbers of some files together."""
    own = [line for source in sources for line in source.own]
    everything = [line for source in sources for line in source.lines]
    names = [match.group(1) for line in own if (match := TYPE.match(line))]
    counts = Counter(names)
    code = sum(map(is_code, own))
    lengths = sorted(len(source.lines) for source in sources) or [0]
    return {
        "lines": len(own),
        "lines_with_tests": len(everything),
        "files": len(sources),
        "file_median": int(statistics.median(lengths)),
        "file_p95": lengths[min(len(lengths) - 1, int(len(lengths) * 0.95))],
        "short_files": sum(length <= 60 for length in lengths),
        "types": len(names),
        "one_word": share(sum(len(HUMP.findall(name)) == 1 for name in names), len(names)),
        "same_name": share(sum(count for count in counts.values() if count > 1), len(names)),
        "vague": round(10_000 * sum(len(VAGUE.findall(line)) for line in everything) / max(len(everything), 1), 1),
        "comments": share(sum(map(is_comment, own)), code),
        "sources": sum(("#[source]" in line) + ("#[from]" in line) for line in own),
        "instrument": sum("instrument(" in line or "#[instrument]" in line or "::instrument]" in line
                          for line in own if line.strip().startswith("#[")),
        "fences": fences(everything),
        "non_exhaustive": sum(line.strip() == "#[non_exhaustive]" for line in own),
        "tuple_lets": len(TUPLE_LET.findall("\n".join(own))),
    }


def share(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0


def libraries(root: Path) -> dict[str, dict[str, float]]:
    """Every crate that others build on; the program and the tools for tests are not."""
    program = {"skillwire", "skillwire-testkit"}
    return {name: measure(sources) for name, sources in crates(root).items() if name not in program}


def table(root: Path, models: dict) -> str:
    """The numbers beside those of the models, as Markdown."""
    all_crates = crates(root)
    ours = measure([source for sources in all_crates.values() for source in sources])
    sizes = {name: numbers["lines_with_tests"] for name, numbers in libraries(root).items()}
    largest = max(sizes, key=sizes.get)
    limit = models["limits"]["lines_of_a_library"]
    over = [name for name, numbers in libraries(root).items() if numbers["lines"] > limit]
    values = {
        "largest": f"{sizes[largest]:,} (`{largest}`)",
        "over": str(len(over)) if not over else f"{len(over)} ({', '.join(over)})",
        "lengths": f"{ours['file_median']} / {ours['file_p95']}",
        "one_word": f"{ours['one_word']:.0f}%",
        "same_name": f"{ours['same_name']:.0f}%",
        "vague": f"{ours['vague']:g}",
        "comments": f"{ours['comments']:g}%",
        "sources": f"{ours['sources']:,}",
        "instrument": f"{ours['instrument']:,}",
        "fences": f"{ours['fences']:,}",
        "non_exhaustive": f"{ours['non_exhaustive']:,}",
        "tuple_lets": f"{ours['tuple_lets']:,}",
    }
    projects = models["projects"]
    out = [
        f"| | now | bf5572f | {' | '.join(projects)} |",
        "|---|---|---|" + "---|" * len(projects),
    ]
    for row in models["rows"]:
        others = [row["models"].get(project, "–") for project in projects]
        title = row["title"].format(limit=f"{limit:,}")
        out.append(f"| {title} | {values[row['key']]} | {row['before']} | {' | '.join(others)} |")
    return "\n".join(out)


def write(root: Path, text: str) -> None:
    """Replaces the table in the document that shows it."""
    path = root / "docs/contributing.md"
    document = path.read_text(encoding="utf-8")
    before, rest = document.split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(f"{before}{BEGIN}{text}\n{END}{after}", encoding="utf-8")


def tracked(root: Path) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
    return [name for name in listed.decode("utf-8", "replace").split("\0") if name]


def artefacts(names: list[str]) -> list[str]:
    """Build artefacts that git tracks."""
    made = re.compile(r"(^|/)(target|node_modules|__pycache__|\.venv)/|\.(pyc|rlib|rmeta|o|snap\.new|profraw)$")
    return [f"{name}: a build makes this file; it must not be tracked." for name in names if made.search(name)]


def machine_paths(root: Path, names: list[str]) -> list[str]:
    """Absolute paths of the machine that something was written on."""
    # People who are made up for examples live at /home/me or /home/x.
    there = [re.escape(str(root)), re.escape(str(Path.home())) + "/", r"/home/(?!me/|x/|skills/)[a-z]\w*/", "/Users/"]
    found = re.compile("|".join(there))
    problems = []
    for name in names:
        path = root / name
        if path == Path(__file__).resolve() or not path.is_file() or path.is_symlink():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if match := found.search(line):
                problems.append(f"{name}:{number}: `{match.group()}` is a path of one machine.")
    return problems


def command_names(root: Path) -> list[str]:
    """The commands of the program, from the help that its tests compare."""
    help_page = root / "crates/skillwire/tests/it/snapshots/it__help__help_of_every_command.snap"
    text = help_page.read_text(encoding="utf-8")
    return sorted(set(re.findall(r"^(?:\$ |Usage: )skillwire ([a-z][a-z-]*)", text, re.MULTILINE)))


# An option that libraries write of other programs: of git, uv, npm, systemd, and of scripts.
OTHERS_OPTION = re.compile(r"`--key value`|systemd-run --")


def command_lines(root: Path) -> list[str]:
    """Commands and options of the program in texts of library crates; the program alone words them."""
    commands = "|".join(command_names(root))
    spelled = re.compile(rf"(?:[` ]|(?<!b)\")skillwire (?:{commands})\b|`--[a-z][a-z-]+")
    problems = []
    for name, sources in crates(root).items():
        if name in ("skillwire", "skillwire-testkit"):
            continue
        for source in sources:
            path = source.path.relative_to(root)
            for line in source.own:
                text = line.strip()
                if not text.startswith("//") and spelled.search(text) and not OTHERS_OPTION.search(text):
                    problems.append(f"{path}: a library spells a command: {text}")
    return problems


# The scanner's pattern for scripts that install something without a question.
SCANNED = re.compile(r"\(\?:-y\|--yes\)")


def answering_flags(root: Path) -> list[str]:
    """Messages that name `--yes`: a model that reads one answers in place of the user (row CL-12)."""
    problems = []
    for sources in crates(root).values():
        for source in sources:
            path = source.path.relative_to(root)
            # The help of a command names the option; no message does.
            if "args" in path.parts:
                continue
            for line in source.own:
                text = line.strip()
                named = "--yes" in SCANNED.sub("", text.replace('"--yes"', ""))
                if named and not text.startswith("//"):
                    problems.append(f"{path}: a message names the option that answers for the user: {text}")
    return problems


def glossary(root: Path) -> list[str]:
    """Types that the glossary names and the code no longer has."""
    types = {
        match.group(1)
        for sources in crates(root).values()
        for source in sources
        for line in source.lines
        if (match := TYPE.match(line))
    }
    rows = (root / "docs/glossary.md").read_text(encoding="utf-8").splitlines()
    named = [name for row in rows if row.startswith("| **") for name in re.findall(r"`([A-Z]\w+)`", row.split("|")[3])]
    return [f"docs/glossary.md: there is no type `{name}`." for name in named if name not in types]


def crate_example(lines: list[str]) -> list[str]:
    """The lines of the examples in the documentation of a crate, as rustdoc runs them."""
    example, is_open = [], False
    for line in lines:
        if not line.startswith("//!"):
            break
        if FENCE.match(line):
            is_open = not is_open
        elif is_open:
            example.append(line.removeprefix("//!").strip())
    return example


def examples(root: Path) -> list[str]:
    """Crates whose example is missing, or needs another of our crates: a caller would have to name that one, too."""
    problems = []
    for name, sources in crates(root).items():
        path = root / "crates" / name / "src/lib.rs"
        # Macros work only through the crate that exports them.
        if name in ("skillwire", "skillwire-macros") or not path.is_file():
            continue
        lines = next(source.lines for source in sources if source.path == path)
        example = crate_example(lines)
        if not example:
            problems.append(f"crates/{name}/src/lib.rs: the documentation of the crate has no example.")
        if "never" not in " ".join(line for line in lines if line.startswith("//!")):
            problems.append(f"crates/{name}/src/lib.rs: the documentation does not say what the crate never knows.")
        own = name.replace("-", "_")
        named = {other for line in example for other in re.findall(r"\bskillwire_\w+(?=::)", line)} - {own}
        problems += [
            f"crates/{name}/src/lib.rs: the example needs `{other}`; export what it takes from there."
            for other in sorted(named)
        ]
    return problems


def stale_table(root: Path, models: dict) -> list[str]:
    """Rows of the table in docs/contributing.md that show numbers from long ago.

    Every change moves some number a little, so one that is off by less than a tenth counts as shown.
    """
    document = (root / "docs/contributing.md").read_text(encoding="utf-8")
    shown, now = (
        {title: values for title, values in map(row_of, text.splitlines()[2:])}
        for text in (document.split(BEGIN)[1].split(END)[0].strip(), table(root, models))
    )
    return [
        f"docs/contributing.md: the row \"{title}\" is stale; run `python3 tools/house/house.py --write`."
        for title in now
        if len(shown.get(title, ())) != len(now[title])
        or any(abs(one - other) > max(0.1 * abs(other), 0.1) for one, other in zip(shown[title], now[title]))
    ]


def row_of(line: str) -> tuple[str, list[float]]:
    """The title of a row of the table, and the numbers that it shows of this tree."""
    _, title, ours, *_ = (cell.strip() for cell in line.split("|"))
    return title, [float(number.replace(",", "")) for number in re.findall(r"\d[\d,.]*", ours)]


def check(root: Path, models: dict) -> list[str]:
    limits = models["limits"]
    problems = [
        f"crates/{name}: {numbers['lines']:,} lines of src without tests; split it where the data changes hands."
        for name, numbers in libraries(root).items()
        if numbers["lines"] > limits["lines_of_a_library"]
    ]
    names = tracked(root)
    problems += artefacts(names)
    problems += machine_paths(root, names)
    problems += glossary(root)
    problems += examples(root)
    problems += stale_table(root, models)
    problems += command_lines(root)
    problems += answering_flags(root)
    problems += dependencies.check(root)
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=HERE.parent.parent)
    parser.add_argument("--check", action="store_true", help="fail where a limit is passed")
    parser.add_argument("--write", action="store_true", help="put the table into docs/contributing.md")
    parser.add_argument("--json", action="store_true", help="print every number")
    args = parser.parse_args()
    root = args.root.resolve()
    models = json.loads((HERE / "models.json").read_text(encoding="utf-8"))
    if args.json:
        everything = crates(root)
        numbers = {name: measure(sources) for name, sources in everything.items()}
        numbers["all"] = measure([source for sources in everything.values() for source in sources])
        print(json.dumps(numbers, indent=2))
    elif args.check:
        problems = check(root, models)
        for problem in problems:
            print(problem, file=sys.stderr)
        return 1 if problems else 0
    elif args.write:
        write(root, table(root, models))
        dependencies.write(root)
    else:
        print(table(root, models))
    return 0


if __name__ == "__main__":
    sys.exit(main())
