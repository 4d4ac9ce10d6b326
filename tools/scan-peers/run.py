#!/usr/bin/env python3
"""Scans the same skills with skillwire and with other scanners, and prints a table of what each finds."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEVERE = {"HIGH", "CRITICAL"}


def skills(folder):
    """The skills below a folder: directories with a SKILL.md, and single Markdown files."""
    if not folder.is_dir():
        return []
    found = [path.parent for path in sorted(folder.rglob("*")) if path.name.lower() == "skill.md"]
    alone = [path for path in sorted(folder.glob("*.md")) if path.name.lower() not in ("skill.md", "readme.md")]
    return found + alone


def gather(folder, into):
    """Copies each skill into a folder of its own, under a number, so that every scanner sees the same."""
    names = {}
    for number, skill in enumerate(skills(folder)):
        target = into / f"s{number:05}"
        if skill.is_dir():
            shutil.copytree(skill, target, symlinks=True)
        else:
            target.mkdir(parents=True)
            shutil.copy(skill, target / "SKILL.md")
        names[target.name] = str(skill.relative_to(folder))
    return names


def run(command, timeout=3600):
    # No keys and no network helpers: what a scanner finds must come from the files.
    environment = {"PATH": os.environ["PATH"], "HOME": tempfile.mkdtemp(), "NO_COLOR": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment, check=False)


def by_skillwire(program, folder):
    ran = run([program, "scan", "--json", "--no-cache", str(folder)])
    report = json.loads(ran.stdout)
    return {
        pathlib.Path(skill["skill"]).name
        for skill in report["skills"]
        if any(finding["severity"].upper() in SEVERE for finding in skill["findings"])
    }


def each(folder, judge):
    return {skill.name for skill in sorted(folder.iterdir()) if judge(skill)}


def severe_json(text):
    """Whether a report in JSON has a finding that is high or worse, wherever it keeps them."""
    start = text.find("{")
    if start < 0:
        return False
    try:
        report, _ = json.JSONDecoder().raw_decode(text[start:])
    except ValueError:
        return False

    def severe(value):
        if isinstance(value, dict):
            own = str(value.get("severity", value.get("level", ""))).upper() in SEVERE
            has_rule = any(key in value for key in ("rule_id", "rule", "id", "title", "category", "message"))
            return (own and has_rule) or any(severe(item) for item in value.values())
        return isinstance(value, list) and any(severe(item) for item in value)

    return severe(report.get("findings", report))


def by_cisco(program, folder):
    command = [program, "scan", "--format", "json", "--use-behavioral"]
    return each(folder, lambda skill: severe_json(run([*command, str(skill)]).stdout))


def by_skilltotal(program, folder):
    return each(folder, lambda skill: severe_json(run([program, "scan", str(skill), "--json"]).stdout))


def by_skillguard(program, folder):
    return each(folder, lambda skill: severe_json(run([program, "scan", str(skill), "--format", "json"]).stdout))


PEERS = {"cisco": by_cisco, "skilltotal": by_skilltotal, "skillguard": by_skillguard}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", action="append", type=pathlib.Path, help="a folder with malicious/ and benign/")
    parser.add_argument("--binary", default=str(ROOT / "target/release/skillwire"))
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PROGRAM", help=", ".join(PEERS))
    parser.add_argument("--names", action="store_true", help="name misses and false alarms")
    options = parser.parse_args()
    corpora = options.corpus or [ROOT / "crates/skillwire-scan/tests/corpus"]
    scanners = [("skillwire", by_skillwire, options.binary)]
    for peer in options.peer:
        name, _, program = peer.partition("=")
        scanners.append((name, PEERS[name], program or name))
    print("| corpus | scanner | attacks found at high | false alarms at high | seconds |")
    print("|---|---|---|---|---|")
    details = []
    for corpus in corpora:
        with tempfile.TemporaryDirectory() as scratch:
            parts = {}
            for part in ("malicious", "benign"):
                folder = pathlib.Path(scratch) / part
                folder.mkdir()
                parts[part] = (folder, gather(corpus / part, folder))
            for name, scan, program in scanners:
                cells, began = {}, time.monotonic()
                for part, (folder, names) in parts.items():
                    alarmed = scan(program, folder) if names else set()
                    cells[part] = f"{len(alarmed)} of {len(names)}"
                    wrong = set(names) - alarmed if part == "malicious" else alarmed
                    what = "misses" if part == "malicious" else "alarms about"
                    details += [f"{name} {what} {names[item]}" for item in sorted(wrong)]
                took = time.monotonic() - began
                print(f"| {corpus.name} | {name} | {cells['malicious']} | {cells['benign']} | {took:.1f} |", flush=True)
    if options.names:
        print()
        print("\n".join(details))


if __name__ == "__main__":
    main()
