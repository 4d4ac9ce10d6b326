"""The table of docs/clients.md, made from the outcomes of runs that are kept in `results.json`."""

from __future__ import annotations

import json
from pathlib import Path

from .scenarios import CHECKS, FAILED, LIMIT

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results.json"
DOCUMENT = ROOT.parent.parent / "docs" / "clients.md"
BEGIN, END = "<!-- tools/clients begins -->", "<!-- tools/clients ends -->"


def keep(reports: list[dict]) -> None:
    """Puts reports in the place of older ones of the same clients."""
    kept = {report["name"]: report for report in read()}
    for report in reports:
        # Details of failures hold temporary folders; only the reasons of limits are kept.
        checks = {
            name: {"state": outcome["state"]}
            | ({"detail": outcome["detail"]} if outcome["state"] == LIMIT else {})
            for name, outcome in report["checks"].items()
        }
        kept[report["name"]] = {
            "name": report["name"],
            "title": report["title"],
            "version": report["version"],
            "checks": checks,
        }
    lines = [json.dumps(kept[name], ensure_ascii=False) for name in sorted(kept)]
    RESULTS.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def read() -> list[dict]:
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []


def table() -> str:
    """The clients with their checks, then what each check means, then the reasons for dashes."""
    columns = [check.name for check in CHECKS]
    lines = [f"| client | version | {' | '.join(columns)} |", "|---|---|" + "---|" * len(columns)]
    reasons: dict[str, list[str]] = {}
    for report in read():
        states = []
        for name in columns:
            outcome = report["checks"].get(name, {"state": LIMIT, "detail": "not run"})
            states.append("**no**" if outcome["state"] == FAILED else outcome["state"])
            if outcome["state"] == LIMIT:
                reasons.setdefault(outcome["detail"], []).append(f"{report['title']} ({name})")
        lines.append(f"| {report['title']} | {report['version']} | {' | '.join(states)} |")
    lines += ["", "| check | what it shows | rows |", "|---|---|---|"]
    lines += [f"| {c.name} | {c.sentence} | {', '.join(c.rows)} |" for c in CHECKS]
    lines += ["", "A dash is a limit of the client:", ""]
    lines += [f"- {', '.join(who)}: {reason}" for reason, who in reasons.items()]
    return "\n".join(lines)


def write() -> None:
    """Puts the table into the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", encoding="utf-8")
