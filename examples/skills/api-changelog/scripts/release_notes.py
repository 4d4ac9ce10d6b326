#!/usr/bin/env python3
"""Collect the commits between two revisions as raw material for release notes.

Groups Conventional Commits, finds breaking changes, removes reverted pairs and
suggests a semantic version bump. Reads the repository; writes nothing to it.
"""

import argparse
import json
import os
import re
import subprocess
import sys

HEADER = re.compile(
    r"^(?P<type>[A-Za-z]+)(?:\((?P<scope>[^()]+)\))?(?P<bang>!)?:\s+(?P<subject>.+)$"
)
BREAKING = re.compile(r"^BREAKING[ -]CHANGE:\s+(.+(?:\n(?![A-Za-z-]+(?:: | #)|\n).*)*)", re.M)
REVERTS = re.compile(r"This reverts commit ([0-9a-f]{7,64})")
TRAILING = re.compile(r"(?:\s*\(#\d+\))+$")
REFERENCE = re.compile(r"(?<![\w/])#(\d+)\b")

GROUPS = {
    "feat": "added",
    "fix": "fixed",
    "perf": "changed",
    "revert": "changed",
    "security": "security",
    "deprecate": "deprecated",
}
INTERNAL = {"build", "chore", "ci", "docs", "refactor", "style", "test"}
ORDER = [
    "breaking", "security", "deprecated", "added", "changed", "fixed", "unclassified", "internal",
]
EPILOG = """\
examples:
  release_notes.py
  release_notes.py --from v1.4.0 --to v1.5.0 --path api/ --path openapi.yaml
  release_notes.py --format json | python3 -m json.tool

exit status: 0 printed, 1 git failed, 2 wrong usage
"""


class GitError(Exception):
    """git could not answer."""


def git(repo, *arguments):
    try:
        done = subprocess.run(
            ["git", "-C", repo, *arguments],
            capture_output=True, text=True, encoding="utf-8", errors="replace", check=False,
        )
    except FileNotFoundError:
        raise GitError("git is not installed or not on PATH") from None
    if done.returncode:
        raise GitError(done.stderr.strip() or f"git {arguments[0]} failed")
    return done.stdout


def commit_of(repo, revision):
    if revision.startswith("-"):
        raise GitError(f"{revision!r} is not a revision")
    try:
        return git(repo, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").strip()
    except GitError:
        raise GitError(
            f"there is no revision {revision!r} in {repo}; list the tags with "
            "'git tag --sort=-version:refname' (a shallow clone may lack it)"
        ) from None


def previous_tag(repo, commit):
    """Return the newest tag before the commit, or None."""
    try:
        return git(repo, "describe", "--tags", "--abbrev=0", f"{commit}^").strip()
    except GitError:
        return None


def read_commits(repo, start, end, paths):
    span = f"{start}..{end}" if start else end
    fields = "%H%x1f%an%x1f%s%x1f%b"
    out = git(repo, "log", "-z", "--no-merges", f"--format={fields}", span, "--", *paths)
    for record in filter(None, out.split("\0")):
        sha, author, subject, body = record.split("\x1f", 3)
        yield {"sha": sha, "author": author, "subject": subject.strip(), "body": body.strip()}


def drop_reverted(commits):
    """Remove each commit whose revert is in the list too, and that revert."""
    kept, gone = [], set()
    for commit in commits:  # newest first, so a revert comes before what it reverts
        if commit["sha"] in gone:
            continue
        target = REVERTS.search(commit["body"])
        if target:
            hits = [c["sha"] for c in commits if c["sha"].startswith(target.group(1))]
            if hits:
                gone.update(hits)
                continue
        kept.append(commit)
    return kept


def classify(commit):
    entry = {
        "sha": commit["sha"][:12],
        "subject": commit["subject"],
        "scope": None,
        "type": None,
        "author": commit["author"],
        "references": sorted({int(n) for n in REFERENCE.findall(
            commit["subject"] + "\n" + commit["body"])}),
    }
    footer = BREAKING.search(commit["body"])
    breaking = footer is not None
    group = "unclassified"
    header = HEADER.match(commit["subject"])
    if header:
        kind = header["type"].lower()
        if kind in GROUPS or kind in INTERNAL:
            entry.update(type=kind, scope=header["scope"], subject=header["subject"])
            group = GROUPS.get(kind, "internal")
        breaking = breaking or header["bang"] is not None
    entry["subject"] = TRAILING.sub("", entry["subject"])  # the number is in references
    if footer:
        entry["breaking_note"] = " ".join(footer.group(1).split())
    return ("breaking" if breaking else group), entry


def bump(groups):
    if groups["breaking"]:
        return "major"
    if groups["added"] or groups["deprecated"]:
        return "minor"
    if any(groups[name] for name in ("security", "changed", "fixed", "unclassified")):
        return "patch"
    return "none"


def as_markdown(result):
    lines = [
        f"# Changes {result['from'] or 'since the beginning'}..{result['to']}",
        "",
        f"{result['commits']} commits, {result['reverted']} dropped as reverted. "
        f"Suggested bump: **{result['suggested_bump']}** (below 1.0.0, one level lower).",
    ]
    for name in ORDER:
        if not result["groups"][name]:
            continue
        lines += ["", f"## {name.capitalize()}", ""]
        for entry in result["groups"][name]:
            scope = f"**{entry['scope']}:** " if entry["scope"] else ""
            numbers = ", ".join(f"#{n}" for n in entry["references"])
            source = ", ".join(filter(None, [entry["sha"], numbers]))
            lines.append(f"- {scope}{entry['subject']} ({source})")
            if "breaking_note" in entry:
                lines.append(f"  - {entry['breaking_note']}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repo", default=".", help="the git repository (default: .)")
    parser.add_argument("--from", dest="start", metavar="REV",
                        help="last released revision (default: the newest tag before --to)")
    parser.add_argument("--to", dest="end", metavar="REV", default="HEAD",
                        help="revision to release (default: HEAD)")
    parser.add_argument("--path", action="append", default=[],
                        help="only commits that touch this path; may be repeated")
    parser.add_argument("--format", choices=("md", "json"), default="md")
    args = parser.parse_args()
    try:
        git(args.repo, "rev-parse", "--git-dir")  # a clear error when this is no repository
        end = commit_of(args.repo, args.end)
        start = args.start or previous_tag(args.repo, end)
        if start:
            commit_of(args.repo, start)
        found = list(read_commits(args.repo, start, end, args.path))
    except GitError as error:
        print(f"release_notes: {error}", file=sys.stderr)
        return 1
    kept = drop_reverted(found)
    groups = {name: [] for name in ORDER}
    for commit in kept:
        name, entry = classify(commit)
        groups[name].append(entry)
    result = {
        "from": start,
        "to": args.end,
        "commits": len(found),
        "reverted": len(found) - len(kept),
        "suggested_bump": bump(groups),
        "groups": groups,
    }
    if not found:
        print(f"release_notes: no commits in {start}..{args.end}", file=sys.stderr)
    print(json.dumps(result, indent=2, ensure_ascii=False) if args.format == "json"
          else as_markdown(result))
    return 0


if __name__ == "__main__":
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)
