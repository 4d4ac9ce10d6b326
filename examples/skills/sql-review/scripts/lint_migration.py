#!/usr/bin/env python3
"""Find statements in PostgreSQL migrations that block, rewrite, break or destroy.

Works on the text alone, without a database, so it does not know table sizes.
Nobody uses tables yet that the same file creates, so locks on them do not count.
To accept a finding, put '-- lint: allow RULE, reason' above or inside the
statement. Function bodies are skipped if quoted, but not if BEGIN ATOMIC.
"""

import argparse
import re
import sys
from pathlib import Path

TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<comment>--[^\n]*)
      | (?P<block>/\*)
      | (?P<escape>[eE]'(?:[^'\\]|\\.|'')*')
      | (?P<string>'(?:[^']|'')*')
      | (?P<quoted>"(?:[^"]|"")*")
      | (?P<dollar>\$(?:[A-Za-z_][A-Za-z_0-9]*)?\$)
      | (?P<word>[^\W\d]\w*)
      | (?P<end>;)
      | (?P<other>.)""",
    re.X | re.S,
)
ALLOW = re.compile(r"lint:\s*allow\s+([a-z-]+)(?:\s*,\s*(\S.*))?")
NAME = r'((?:"[^"]+"|\w+)(?:\s*\.\s*(?:"[^"]+"|\w+))?)'
VOLATILE = (
    r"(?:random|gen_random_uuid|uuid_generate_v\w+|uuidv\d|clock_timestamp|nextval|timeofday)"
)

# rule: (severity, what happens, what to do instead)
RULES = {
    "create-index-blocking": ("high", "blocks writes while the index builds",
                              "CREATE INDEX CONCURRENTLY, outside a transaction"),
    "concurrently-in-transaction": ("high", "fails: CONCURRENTLY cannot run inside a transaction",
                                    "move it to a migration without a transaction"),
    "drop-index-blocking": ("medium", "waits for, then blocks, all queries on the table",
                            "DROP INDEX CONCURRENTLY"),
    "reindex-blocking": ("high", "blocks writes, and reads that use the index",
                         "REINDEX ... CONCURRENTLY"),
    "add-column-rewrite": ("high", "rewrites the table while blocking reads and writes",
                           "add a plain column, set the default after, backfill in batches"),
    "add-column-required": ("high", "fails if the table has rows",
                            "add it nullable, backfill, then require it"),
    "set-not-null": ("medium", "scans the table while blocking reads and writes",
                     "validate a CHECK (column IS NOT NULL) first, see the recipe"),
    "change-type": ("high", "usually rewrites the table while blocking reads and writes",
                    "new column, dual write, backfill, swap"),
    "constraint-validates": ("high", "checks every row while blocking writes",
                             "add it NOT VALID, then VALIDATE CONSTRAINT in another transaction"),
    "constraint-builds-index": ("high", "builds an index while blocking reads and writes",
                                "unique index CONCURRENTLY, then ADD CONSTRAINT ... USING INDEX"),
    "rename": ("high", "breaks the application version that still runs", "expand and contract"),
    "drop-column": ("high", "breaks the running version and destroys data",
                    "remove it from the code first, drop it in a later release"),
    "drop-table": ("high", "breaks the running version and destroys data",
                   "rename or revoke for a while first; keep a dump"),
    "cascade": ("high", "also drops objects that the migration does not name",
                "name and drop each dependent object"),
    "truncate": ("high", "destroys all rows and blocks all queries", "delete in batches"),
    "no-where": ("high", "changes every row in one transaction", "batches by primary key"),
    "full-rewrite": ("high", "rewrites the table while blocking reads and writes",
                     "run it in a maintenance window, not in a migration"),
    "no-lock-timeout": ("medium", "waits without limit for its lock, and all queries queue behind",
                        "SET lock_timeout = '3s' before it"),
    "bare-timestamp": ("low", "stores local time without its zone", "timestamptz"),
}
SEVERITIES = ("high", "medium", "low")


class SqlError(Exception):
    """The text cannot be split into statements."""


def statements(text):
    """Yield (line, flattened statement, allowed rules); literals become ''."""
    position, line = 0, 1
    parts, first, allowed = [], None, {}
    while position < len(text):
        match = TOKEN.match(text, position)
        kind, value = match.lastgroup, match[0]
        end = match.end()
        if kind == "other" and value in "'\"":
            raise SqlError(f"line {line}: a quote is not closed")
        if kind == "block":
            depth, end = 1, match.end()
            while depth:
                step = re.compile(r"/\*|\*/").search(text, end)
                if not step:
                    raise SqlError(f"line {line}: a comment is not closed")
                depth += 1 if step[0] == "/*" else -1
                end = step.end()
        elif kind == "dollar":
            close = text.find(value, end)
            if close < 0:
                raise SqlError(f"line {line}: {value} is not closed")
            end = close + len(value)
        value = text[position:end]
        if kind in ("comment", "block"):
            for rule, reason in ALLOW.findall(value):
                allowed[rule] = (line, reason)
        if kind == "end":
            if first:
                yield first, flat(parts), allowed
            parts, first, allowed = [], None, {}
        elif kind in ("string", "escape", "dollar"):
            parts.append("''")
            first = first or line
        elif kind in ("space", "comment", "block"):
            parts.append(" ")
        else:
            parts.append(value)
            first = first or line
        line += value.count("\n")
        position = end
    if first:
        yield first, flat(parts), allowed


def flat(parts):
    return " ".join("".join(parts).split())


def clauses(text):
    """Split the actions of ALTER TABLE at top-level commas."""
    depth, start = 0, 0
    for index, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            yield text[start:index].strip()
            start = index + 1
    yield text[start:].strip()


def has(pattern, text):
    return re.search(pattern, text, re.I) is not None


def bare(name):
    return re.sub(r"\s", "", name).replace('"', "").lower().removeprefix("public.")


def alter_rules(action):
    """Yield the rules that one action of ALTER TABLE breaks."""
    constraint = r"^ADD (CONSTRAINT \S+ )?"
    if has(constraint + r"(UNIQUE|PRIMARY KEY)\b", action):
        if not has(r"\bUSING INDEX\b", action):
            yield "constraint-builds-index"
    elif has(constraint + r"(FOREIGN KEY|CHECK)\b", action):
        if not has(r"\bNOT VALID$", action):
            yield "constraint-validates"
    elif has(constraint + r"EXCLUDE\b", action):
        yield "constraint-builds-index"
    elif has(constraint + r"NOT NULL\b", action):
        if not has(r"\bNOT VALID$", action):
            yield "set-not-null"
    elif has(r"^ADD\b", action):
        default = has(r"\bDEFAULT\b", action)
        made = has(r"\b(SMALL|BIG)?SERIAL\b|\bGENERATED\b.*\b(IDENTITY|STORED)\b", action)
        if made or has(rf"\bDEFAULT\b.*\b{VOLATILE}\s*\(", action):
            yield "add-column-rewrite"
        elif has(r"\bNOT NULL\b", action) and not default:
            yield "add-column-required"
        if has(r"\b(UNIQUE|PRIMARY KEY)\b", action):
            yield "constraint-builds-index"
        if has(r"\bREFERENCES\b", action) and default:
            yield "constraint-validates"
    elif has(r"^ALTER (COLUMN )?\S+ SET NOT NULL", action):
        yield "set-not-null"
    elif has(r"^ALTER (COLUMN )?\S+ (SET DATA )?TYPE\b", action):
        yield "change-type"
    elif has(r"^RENAME\b", action) and not has(r"^RENAME CONSTRAINT\b", action):
        yield "rename"
    elif has(r"^DROP (COLUMN )?(?!CONSTRAINT\b)", action):
        yield "drop-column"
    if has(r"^DROP\b.*\bCASCADE$", action):
        yield "cascade"


def statement_rules(sql, created, in_transaction):
    """Yield the rules that one statement breaks, and note tables it creates."""
    if match := re.match(rf"CREATE (?:\w+ )*?TABLE (?:IF NOT EXISTS )?{NAME}", sql, re.I):
        created.add(bare(match[1]))
    if has(r"\bCONCURRENTLY\b", sql) and in_transaction:
        yield "concurrently-in-transaction"
    if has(r"^(CREATE (\w+ )*?TABLE|ALTER TABLE)\b", sql):
        unquoted = re.sub(r'"[^"]*"', "name", sql)
        if has(r"\bTIMESTAMP\b(?!\s*(\(\d\))?\s*WITH TIME ZONE)", unquoted):
            yield "bare-timestamp"
    if match := re.match(
        rf"CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY).*?\bON (?:ONLY )?{NAME}", sql, re.I
    ):
        if bare(match[1]) not in created:
            yield "create-index-blocking"
    elif has(r"^DROP INDEX (?!CONCURRENTLY)", sql):
        yield "drop-index-blocking"
        if has(r"\bCASCADE$", sql):
            yield "cascade"
    elif has(r"^REINDEX\b(?!.*\bCONCURRENTLY\b)", sql):
        yield "reindex-blocking"
    elif match := re.match(
        rf"ALTER TABLE (?:IF EXISTS )?(?:ONLY )?{NAME}\s*\*? (.+)$", sql, re.I
    ):
        if bare(match[1]) not in created:
            for action in clauses(match[2]):
                yield from alter_rules(action)
    elif has(r"^DROP (TABLE|SCHEMA|VIEW|MATERIALIZED VIEW|TYPE|FUNCTION)\b", sql):
        if has(r"^DROP (TABLE|SCHEMA)\b", sql):
            yield "drop-table"
        if has(r"\bCASCADE$", sql):
            yield "cascade"
    elif has(r"^TRUNCATE\b", sql):
        yield "truncate"
    elif match := re.match(rf"(?:UPDATE|DELETE FROM) (?:ONLY )?{NAME}", sql, re.I):
        if not has(r"\bWHERE\b", sql) and bare(match[1]) not in created:
            yield "no-where"
    elif has(r"^(VACUUM\b.*\bFULL\b|CLUSTER\b)", sql):
        yield "full-rewrite"


def takes_lock(sql, created):
    match = re.match(rf"(?:ALTER|DROP) TABLE (?:IF EXISTS )?(?:ONLY )?{NAME}", sql, re.I)
    return match is not None and bare(match[1]) not in created


def lint(text, wrapped):
    """Return the findings as (line, severity, rule, message)."""
    found, created = [], set()
    in_transaction, timeout, told = wrapped, False, False
    for line, sql, allowed in statements(text):
        if has(r"^(BEGIN|START TRANSACTION)\b", sql):
            in_transaction = True
        elif has(r"^(COMMIT|END|ROLLBACK)\b(?! (PREPARED|TO))", sql):
            in_transaction = wrapped
        timeout = timeout or has(r"^SET (SESSION |LOCAL )?lock_timeout\b", sql)
        rules = list(dict.fromkeys(statement_rules(sql, created, in_transaction)))
        if takes_lock(sql, created) and not timeout and not told:
            rules.append("no-lock-timeout")
            told = True
        for rule, (where, reason) in allowed.items():
            if rule not in RULES:
                found.append((where, "low", "allow-unknown", f"there is no rule {rule!r}"))
            elif not reason:
                found.append((where, "low", "allow-reason", f"say why {rule} is fine here"))
        for rule in rules:
            if rule not in allowed:
                severity, harm, instead = RULES[rule]
                found.append((line, severity, rule, f"{harm}; instead: {instead}"))
    return sorted(found, key=lambda f: (f[0], SEVERITIES.index(f[1])))


def main():
    listing = "\n".join(f"  {name:28} {rule[0]:7} {rule[1]}" for name, rule in RULES.items())
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"rules:\n{listing}\n\nexit status: 0 nothing high, 1 a high finding, 2 cannot read",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE",
                        help="SQL file, or - for standard input")
    parser.add_argument("--in-transaction", action="store_true",
                        help="the migration tool wraps each file in a transaction")
    args = parser.parse_args()
    high = total = 0
    for name in args.files:
        try:
            text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
            found = lint(text, args.in_transaction)
        except (OSError, UnicodeDecodeError, SqlError) as error:
            print(f"lint_migration: {name}: {error}", file=sys.stderr)
            return 2
        for line, severity, rule, message in found:
            print(f"{name}:{line}: {severity}: {rule}: {message}")
            high += severity == "high"
        total += len(found)
    print(f"{total} finding{'' if total == 1 else 's'}, {high} high")
    return 1 if high else 0


if __name__ == "__main__":
    sys.exit(main())
