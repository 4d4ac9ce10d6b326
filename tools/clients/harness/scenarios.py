"""What is played in each client, and what the model must have been shown.

Every check has a short name (a column of the report), a sentence, and the rows of the review it shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from . import script
from .client import Client, Session
from .world import LABEL, LONG_FILE, Broken

# Sentences of the example skills, free of signs that a client may escape.
SKILL_TEXT = "carries no types, no encoding and no promise"
FILE_TEXT = "repairs lose nothing and can be applied when asked"
OTHER_TEXT = "is a reproducible bug whose conditions you do not know yet"
DESCRIPTION = "Profiles CSV"
LATE_LINE = "Observation 05000"
# Counted from where offsets are counted, bytes or lines, some line near the late one is shown.
LATE_OFFSETS = {"line": 4990, "byte": 4990 * 36}
CLOSING = "The script is over: 4711."
WORDS = "look at orders-2026.csv for me"

APPROVED = f"{LABEL}:csv-profiling"
UNAPPROVED = f"{LABEL}:flaky-tests"


@dataclass(frozen=True)
class Check:
    """One thing that a run shows."""

    name: str
    sentence: str
    rows: tuple[str, ...] = ()


CHECKS = [
    Check("catalogue", "Before any call, the model reads what the skills are for.", ("CL-04", "CL-05")),
    Check("tools", "The model is offered tools that take any handle.", ("CL-07",)),
    Check("list", "Searching by words names the skill.", ("CL-09", "CL-11")),
    Check("load", "An approved skill loads, and the model reads its text.", ("CL-06", "CL-08")),
    Check("read", "The model reads a file of the skill.", ("CL-10",)),
    Check("offset", "The model reads a long file from the middle.", ("CL-10",)),
    Check("refusal", "An unapproved skill is refused with the command to run, and no `--yes`.", ("CL-12",)),
    Check("mistake", "Bad arguments come back as an error, and the model goes on.", ("CL-13",)),
    Check("end", "The client ends by itself with the model's last words."),
    Check("undecided", "Without a user, nothing was declined for good.", ("CL-01", "CL-02")),
    Check("later", "What the user approves afterwards loads in the next session.", ("CL-01",)),
    Check("run", "A script of a skill runs on a file of the user, and the model reads what it wrote."),
    Check("search", "Where tools are searched for, a skill's words find `load_skill`.", ("CL-05",)),
    Check("serve", "The README's `serve` entry shows skills, and one loads.", ("FU-01",)),
    Check("prompt", "A slash command with words after it gives the skill and the words.", ("CL-03",)),
]

OK, FAILED, LIMIT = "ok", "FAILED", "–"


@dataclass(frozen=True)
class Outcome:
    """What became of a check; `detail` says why where it did not hold."""

    state: str
    detail: str = ""


Outcomes = dict[str, Outcome]


def held(holds: object, detail: str) -> Outcome:
    return Outcome(OK) if holds else Outcome(FAILED, detail[:1500])


def run_all(client: Client) -> Outcomes:
    """Plays every scenario in one client."""
    outcomes: Outcomes = {}
    for scenario in (bridge, later, search, serve, prompt):
        try:
            outcomes |= scenario(client)
        except (Broken, OSError) as reason:
            outcomes[scenario.__name__] = Outcome(FAILED, str(reason))
    for name, reason in client.limits.items():
        # A limit that is gone would hide a client's progress, so it is noticed.
        if outcomes.get(name, Outcome(LIMIT)).state == OK:
            outcomes[name] = Outcome(FAILED, f"it works now; take it out of `limits`: {reason}")
        else:
            outcomes[name] = Outcome(LIMIT, reason)
    return {check.name: outcomes.get(check.name, Outcome(FAILED, "not reached")) for check in CHECKS}


def bridge(client: Client) -> Outcomes:
    """One session with the bridge: find, load, read, be refused, make a mistake, end."""
    played = script.Script(
        [
            script.list_skills("csv"),
            script.load_skill("load", APPROVED),
            script.read_file("read", APPROVED, "references/findings.md"),
            script.read_file("offset", APPROVED, LONG_FILE, LATE_OFFSETS),
            script.load_skill("refusal", UNAPPROVED),
            script.load_wrongly("mistake"),
        ],
        CLOSING,
    )
    session = client.session("bridge", client.world.bridge(), played, "Profile a CSV file.")
    shown = first_shown(session)
    answer = played.answers.get
    refused = answer("refusal", "")
    return {
        "catalogue": held("csv-profiling" in shown and DESCRIPTION in shown, session.report()),
        "tools": tools(session),
        "list": held(APPROVED in answer("list", ""), answer("list", session.report())),
        "load": held(SKILL_TEXT in answer("load", ""), answer("load", session.report())),
        "read": held(FILE_TEXT in answer("read", ""), answer("read", session.report())),
        "offset": held(LATE_LINE in answer("offset", ""), answer("offset", session.report())),
        "refusal": held(
            "approve" in refused and "--yes" not in refused and OTHER_TEXT not in refused,
            refused or session.report(),
        ),
        "mistake": held(
            re.search(r"name|string|argument|invalid", answer("mistake", ""), re.IGNORECASE)
            and SKILL_TEXT not in answer("mistake", "")
            and played.finished,
            answer("mistake", session.report()),
        ),
        "end": held(CLOSING in session.ended.output and session.ended.code == 0, session.report()),
        "undecided": held(
            (state := client.world.state("flaky-tests")) == "new",
            f"after the session the skill is `{state}`",
        ),
    }


def first_shown(session: Session) -> str:
    """What the model reads before it calls anything."""
    first = session.script.first
    return first.everything() if first else ""


def tools(session: Session) -> Outcome:
    first = session.script.first
    if first is None:
        return Outcome(FAILED, f"no tools were offered\n{session.report()}")
    offered = [first.tool(*names) for names in (script.LIST, script.LOAD, script.READ)]
    if not all(offered):
        return Outcome(FAILED, f"offered: {', '.join(tool.name for tool in first.tools)}")
    if bad := first.bad_names():
        return Outcome(FAILED, f"names that a model's service refuses: {', '.join(bad)}")
    closed = [tool.name for tool in offered if tool and "enum" in str(tool.properties.get("name", {}))]
    return held(not closed, f"closed lists of handles: {closed}")


def later(client: Client) -> Outcomes:
    """The user approves what was refused and grants a run; the next session loads and runs it."""
    client.world.approve("flaky-tests")
    orders = client.world.work / "orders.csv"
    orders.write_text("town,amount\nOslo,10\nRome,20\n", encoding="utf-8")
    client.world.approve("csv-profiling", "--exec", "--input", str(client.world.work))
    played = script.Script(
        [
            script.load_skill("load", UNAPPROVED),
            script.run_script("run", APPROVED, "scripts/profile_csv.py", orders),
        ],
        CLOSING,
    )
    session = client.session("later", client.world.bridge(), played, "A test is flaky.")
    loaded, ran = played.answers.get("load", ""), played.answers.get("run", "")
    return {
        "later": held(OTHER_TEXT in loaded, loaded or session.report()),
        "run": held("town" in ran and "amount" in ran, ran or session.report()),
    }


def search(client: Client) -> Outcomes:
    """A client that keeps tools back finds them by the words of a skill."""
    if not client.searches_tools:
        return {"search": Outcome(LIMIT, "It shows every tool, so that there is nothing to search for.")}
    played = script.ToolSearch("csv profiling", CLOSING)
    client.always_load = False
    try:
        session = client.session("search", client.world.bridge(), played, "Profile a CSV file.")
    finally:
        client.always_load = True
    found = played.answers.get("search", "")
    return {"search": held("load_skill" in found, found or session.report())}


def serve(client: Client) -> Outcomes:
    """The entry of the README's first command, in a client that knows tools only."""
    played = script.Script(
        [script.list_skills("csv"), script.load_skill("load", "csv-profiling")], CLOSING
    )
    session = client.session("serve", client.world.serve(), played, "Profile a CSV file.")
    listed, loaded = played.answers.get("list", ""), played.answers.get("load", "")
    shown = "csv-profiling" in listed and SKILL_TEXT in loaded
    return {"serve": held(shown, f"{listed}\n{loaded}".strip() or session.report())}


def prompt(client: Client) -> Outcomes:
    """A slash command with words after it."""
    if "prompt" in client.limits and not client.slash_commands:
        return {}
    played = script.Script([], CLOSING)
    session = client.slash_session("prompt", client.world.bridge(), played, APPROVED, WORDS)
    seen = "\n".join(shown.user + shown.system for shown in session.shown)
    return {"prompt": held(SKILL_TEXT in seen and WORDS in seen, f"{seen[-800:]}\n{session.report()}")}

