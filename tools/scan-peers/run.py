#!/usr/bin/env python3
"""Scans the same skills with skillwire and with other scanners, and prints a table of what each finds."""

import argparse
import json
import os
import pathlib
import shutil
import signal
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


def run(command, seconds):
    """Runs a scanner without keys; what it finds must come from the files. Says nothing if it takes too long."""
    with tempfile.TemporaryDirectory() as home:
        # A library of one peer asks a server for prices of models at each start, unless told not to.
        environment = {"PATH": os.environ["PATH"], "HOME": home, "NO_COLOR": "1"}
        environment["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
            errors="replace", env=environment, start_new_session=True,
        ) as child:
            try:
                return child.communicate(timeout=seconds)[0]
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                return None


class Outcome:
    """The skills that a scanner alarms about, and those that it did not finish in time."""

    def __init__(self):
        self.alarmed, self.unfinished = set(), set()


def by_skillwire(program, folder, seconds):
    said = run([program, "scan", "--json", "--no-cache", str(folder)], seconds * len(list(folder.iterdir())))
    outcome = Outcome()
    if said is None:
        outcome.unfinished = {skill.name for skill in folder.iterdir()}
        return outcome
    for skill in json.loads(said)["skills"]:
        if any(finding["severity"].upper() in SEVERE for finding in skill["findings"]):
            outcome.alarmed.add(pathlib.Path(skill["skill"]).name)
    return outcome


def each(folder, seconds, command):
    """Judges one skill after the other, by a report in JSON."""
    outcome = Outcome()
    for skill in sorted(folder.iterdir()):
        said = run(command(str(skill)), seconds)
        if said is None:
            outcome.unfinished.add(skill.name)
        elif severe_json(said):
            outcome.alarmed.add(skill.name)
    return outcome


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


def by_cisco(program, folder, seconds):
    # Its start alone takes seconds, so all skills are scanned at once; one by one if that takes too long.
    options = ["--format", "json", "--use-behavioral"]
    count = len(list(folder.iterdir()))
    said = run([program, "scan-all", *options, str(folder)], seconds * count)
    try:
        results = json.loads(said or "")["results"]
    except (ValueError, KeyError):
        results = []
    if len(results) < count:
        return each(folder, seconds, lambda skill: [program, "scan", *options, skill])
    outcome = Outcome()
    outcome.alarmed = {pathlib.Path(result["skill_path"]).name for result in results if severe_json(json.dumps(result))}
    return outcome


def by_skilltotal(program, folder, seconds):
    return each(folder, seconds, lambda skill: [program, "scan", skill, "--json"])


def by_skillguard(program, folder, seconds):
    return each(folder, seconds, lambda skill: [program, "scan", skill, "--format", "json"])


PEERS = {"cisco": by_cisco, "skilltotal": by_skilltotal, "skillguard": by_skillguard}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", action="append", type=pathlib.Path, help="a folder with malicious/ and benign/")
    parser.add_argument("--binary", default=str(ROOT / "target/release/skillwire"))
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PROGRAM", help=", ".join(PEERS))
    parser.add_argument("--seconds", type=int, default=60, help="how long a scanner may take for one skill")
    parser.add_argument("--names", action="store_true", help="name misses and false alarms")
    options = parser.parse_args()
    if shutil.which(options.binary) is None:
        parser.error(
            f"There is no program `{options.binary}`. `cargo build --release -p skillwire --features full` builds it; "
            "`--binary` names another one."
        )
    for peer in options.peer:
        name, _, program = peer.partition("=")
        if name not in PEERS:
            parser.error(f"There is no peer `{name}`; there are: {', '.join(PEERS)}.")
        if shutil.which(program or name) is None:
            parser.error(f"There is no program `{program or name}` for the peer `{name}`.")
    corpora = options.corpus or [ROOT / "crates/skillwire-scan/tests/corpus"]
    scanners = [("skillwire", by_skillwire, options.binary)]
    for peer in options.peer:
        name, _, program = peer.partition("=")
        scanners.append((name, PEERS[name], program or name))
    print("| corpus | scanner | attacks found at high | false alarms at high | not finished in time | seconds |")
    print("|---|---|---|---|---|---|")
    details = []
    for corpus in corpora:
        with tempfile.TemporaryDirectory() as scratch:
            parts = {}
            for part in ("malicious", "benign"):
                folder = pathlib.Path(scratch) / part
                folder.mkdir()
                parts[part] = (folder, gather(corpus / part, folder))
            for name, scan, program in scanners:
                cells, late, began = {}, 0, time.monotonic()
                for part, (folder, names) in parts.items():
                    outcome = scan(program, folder, options.seconds) if names else Outcome()
                    cells[part] = f"{len(outcome.alarmed)} of {len(names)}"
                    late += len(outcome.unfinished)
                    wrong = set(names) - outcome.alarmed if part == "malicious" else outcome.alarmed
                    what = "misses" if part == "malicious" else "alarms about"
                    details += [f"{name} {what} {names[item]}" for item in sorted(wrong)]
                    details += [f"{name} did not finish {names[item]}" for item in sorted(outcome.unfinished)]
                took = time.monotonic() - began
                print(f"| {corpus.name} | {name} | {cells['malicious']} | {cells['benign']} | {late} | {took:.1f} |", flush=True)
    if options.names:
        print()
        print("\n".join(details))


if __name__ == "__main__":
    main()
