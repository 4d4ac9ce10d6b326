#!/usr/bin/env python3
"""Profile a CSV file: structure, types, values and quality problems, in one report.

Reads the file once for its encoding and once for its rows, with bounded memory,
and never changes it. Works for comma, semicolon, tab and pipe as delimiters.
"""

import argparse
import codecs
import csv
import io
import itertools
import json
import math
import os
import random
import re
import sys
from collections import Counter
from datetime import date, datetime
from pathlib import Path

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
NULL_WORDS = {"na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", "?", "unknown", "tbd"}
SENTINEL_DATES = {"1900-01-01", "1970-01-01", "9999-12-31"}
BOOLEANS = {"true", "false", "yes", "no", "t", "f", "y", "n"}
INTEGER = re.compile(r"[+-]?\d+")
DECIMAL = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?:\.\d*)?[eE][+-]?\d+)")
DECIMAL_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:[.\u00a0\u202f ]\d{3})+|\d+),\d+")
THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
ISO_DATETIME = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?)(?:[.,]\d+)?(Z|[+-]\d\d:?\d\d)?"
)
LOCAL_DATE = re.compile(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}|\d{2})")
MOJIBAKE = re.compile("\ufffd|[\u00c2\u00c3][\u0080-\u00bf]|\u00e2\u20ac")
NUMERIC = {"integer", "decimal", "decimal comma", "thousands"}
ALSO_FINE = {  # kinds that do not make a column of the given type mixed
    "code": {"integer"},
    "decimal": {"integer"},
    "decimal comma": {"integer"},
    "thousands": {"integer", "decimal"},
    "datetime": {"datetime with zone"},
    "datetime with zone": {"datetime"},
}
SAMPLE = 10_000
SEVERITIES = ("high", "medium", "low")


class ProfileError(Exception):
    """The file cannot be profiled."""


def detect_encoding(path):
    """Return the encoding and whether it is certain."""
    with path.open("rb") as file:
        start = file.read(4)
        if start.startswith(codecs.BOM_UTF8):
            return "utf-8-sig", True
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16", True
        file.seek(0)
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while chunk := file.read(1 << 20):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252", False
    return "utf-8", True


def detect_delimiter(sample):
    """Choose the delimiter that gives the most rows of one common width."""
    best, best_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        widths = [len(row) for row in csv.reader(io.StringIO(sample), delimiter=delimiter) if row]
        if not widths:
            continue
        width, hits = Counter(widths[:200]).most_common(1)[0]
        if width > 1 and (score := (round(hits / len(widths[:200]), 2), width)) > best_score:
            best, best_score = delimiter, score
    return best


def number(text, kind):
    if kind == "decimal comma":
        text = re.sub(r"[.\u00a0\u202f ]", "", text).replace(",", ".")
    elif kind == "thousands":
        text = text.replace(",", "")
    return float(text)


def kind_of(text):
    """Name the kind of one trimmed, non-null value."""
    if INTEGER.fullmatch(text):
        digits = text.lstrip("+-")
        return "code" if len(digits) > 1 and digits[0] == "0" else "integer"
    if DECIMAL.fullmatch(text):
        return "decimal"
    if THOUSANDS.fullmatch(text):
        return "thousands"
    if DECIMAL_COMMA.fullmatch(text):
        return "decimal comma"
    if ISO_DATE.fullmatch(text):
        return "date" if parses(date.fromisoformat, text) else "impossible date"
    if match := ISO_DATETIME.fullmatch(text):
        if not parses(datetime.fromisoformat, match[1]):
            return "impossible date"
        return "datetime with zone" if match[2] else "datetime"
    if match := LOCAL_DATE.fullmatch(text):
        first, second = int(match[1]), int(match[2])
        if not (0 < first <= 31 and 0 < second <= 31) or min(first, second) > 12:
            return "impossible date"
        return "local date"
    if text.lower() in BOOLEANS:
        return "boolean"
    return "text"


def parses(function, text):
    try:
        function(text)
    except ValueError:
        return False
    return True


class Column:
    """What one pass over the file has learned about one column."""

    def __init__(self, name, limit):
        self.name, self.limit = name, limit
        self.rows = self.empty = 0
        self.values, self.overflow = Counter(), False
        self.kinds, self.examples = Counter(), {}
        self.marks, self.mark_lines = Counter(), {}
        self.lengths = [None, 0]
        self.numbers, self.total, self.bounds = 0, 0.0, [None, None]
        self.sample, self.random = [], random.Random(0)
        self.day_first = self.month_first = 0

    def mark(self, what, line):
        self.marks[what] += 1
        lines = self.mark_lines.setdefault(what, [])
        if len(lines) < 5:
            lines.append(line)

    def add(self, raw, line):
        self.rows += 1
        text = raw.strip()
        if text != raw:
            self.mark("padded", line)
        if not text:
            self.empty += 1
            return
        if text.lower() in NULL_WORDS:
            self.mark("null-word", line)
            return
        if not self.overflow:
            self.values[text] += 1
            if len(self.values) > self.limit:
                self.overflow = True
                self.values.clear()
        size = len(text)
        self.lengths = [min(self.lengths[0] or size, size), max(self.lengths[1], size)]
        kind = kind_of(text)
        self.kinds[kind] += 1
        self.examples.setdefault(kind, (text, line))
        self.inspect(text, kind, line)

    def inspect(self, text, kind, line):
        if MOJIBAKE.search(text):
            self.mark("mojibake", line)
        if any(ord(c) < 32 and c not in "\n\r\t" or ord(c) in (0x200B, 0xFEFF) for c in text):
            self.mark("invisible", line)
        if text[0] in "=+-@" and kind == "text":
            self.mark("formula", line)
        if text[:10] in SENTINEL_DATES:
            self.mark("sentinel-date", line)
        if kind == "impossible date":
            self.mark("impossible-date", line)
        if kind == "local date":
            first, second = (int(n) for n in LOCAL_DATE.fullmatch(text).groups()[:2])
            self.day_first += first > 12
            self.month_first += second > 12
        if kind in NUMERIC:
            value = number(text, kind)
            if kind == "integer" and abs(value) > 2**53:
                self.mark("big-integer", line)
            if not math.isfinite(value):
                return
            self.numbers += 1
            self.total += value
            low, high = self.bounds
            self.bounds = [value if low is None else min(low, value),
                           value if high is None else max(high, value)]
            if len(self.sample) < SAMPLE:
                self.sample.append((value, line))
            elif (slot := self.random.randrange(self.numbers)) < SAMPLE:
                self.sample[slot] = (value, line)

    @property
    def filled(self):
        return sum(self.kinds.values())

    def type(self):
        if not self.kinds:
            return "empty"
        if self.kinds["code"] and 2 * (self.kinds["code"] + self.kinds["integer"]) >= self.filled:
            return "code"
        kind = self.kinds.most_common(1)[0][0]
        if kind == "integer":
            wider = max(("decimal", "decimal comma", "thousands"), key=lambda k: self.kinds[k])
            return wider if self.kinds[wider] else kind
        return kind

    def is_key(self):
        whole = self.type() not in NUMERIC - {"integer"}  # a unique price is an accident
        return whole and self.rows > 1 and not self.overflow and len(self.values) == self.rows

    def quantiles(self):
        if not self.sample:
            return None
        ordered = sorted(value for value, _ in self.sample)
        return [ordered[round(q * (len(ordered) - 1))] for q in (0.25, 0.5, 0.75)]

    def summary(self):
        result = {
            "name": self.name,
            "type": self.type(),
            "filled": self.filled,
            "empty": self.empty,
            "distinct": f"over {self.limit}" if self.overflow else len(self.values),
            "unique": self.is_key(),
            "length": self.lengths if self.filled else None,
            "top": [] if self.overflow else self.values.most_common(5),
        }
        if self.numbers and self.type() in NUMERIC:
            low, mid, high = self.quantiles()
            result["numbers"] = {
                "min": self.bounds[0], "q1": low, "median": mid, "q3": high,
                "max": self.bounds[1], "mean": self.total / self.numbers,
            }
        return result

    def findings(self):
        def found(severity, code, count, text, lines=None):
            return {"severity": severity, "code": code, "column": self.name, "count": count,
                    "message": text, "lines": lines or self.mark_lines.get(code, [])}

        marks, kind = self.marks, self.type()
        if kind == "empty":
            yield found("medium", "empty-column", self.rows, "has no value at all")
        missing = self.empty + marks["null-word"]
        if kind != "empty" and missing * 2 > self.rows:
            yield found("medium", "mostly-empty", missing, "is empty in more than half of the rows")
        if marks["null-word"]:
            yield found("medium", "null-word", marks["null-word"],
                        "spells missing values as words such as NA or null")
        fine = {kind, "impossible date"} | ALSO_FINE.get(kind, set())
        odd = {k: n for k, n in self.kinds.items() if n and k not in fine}
        if odd and kind != "text":
            shown = ", ".join(f"{n} {k} ({self.examples[k][0]!r})" for k, n in odd.items())
            yield found("high", "mixed-types", sum(odd.values()), f"is {kind}, but has {shown}",
                        [self.examples[k][1] for k in odd])
        if kind == "code":
            yield found("high", "leading-zeros", self.kinds["code"],
                        "has leading zeros; read it as text or they are lost",
                        [self.examples["code"][1]])
        if self.kinds["local date"]:
            if self.day_first and self.month_first:
                yield found("high", "date-order-mixed", self.day_first + self.month_first,
                            f"has {self.day_first} dates that are day-first and "
                            f"{self.month_first} that are month-first")
            elif not self.day_first and not self.month_first:
                yield found("high", "date-order-unknown", self.kinds["local date"],
                            "has dates that can be day-first or month-first")
        if self.kinds["datetime"] and self.kinds["datetime with zone"]:
            yield found("high", "zone-mixed", self.kinds["datetime"],
                        "has times with and without a zone", [self.examples["datetime"][1]])
        for code, severity, text in (
            ("impossible-date", "high", "has dates that do not exist"),
            ("mojibake", "high", "has text that was decoded with a wrong encoding"),
            ("big-integer", "high", "has integers beyond 2^53, which JSON and spreadsheets round"),
            ("formula", "medium", "has text that spreadsheets run as a formula"),
            ("sentinel-date", "medium", "has dates that often stand for 'unknown'"),
            ("invisible", "medium", "has control or zero-width characters"),
            ("padded", "low", "has spaces around values"),
        ):
            if marks[code]:
                yield found(severity, code, marks[code], text)
        if not self.overflow and kind in ("text", "boolean") and len(self.values) <= 5000:
            forms = {}
            for value in self.values:
                forms.setdefault(" ".join(value.casefold().split()), []).append(value)
            twins = [sorted(group) for group in forms.values() if len(group) > 1]
            if twins:
                shown = "; ".join(" / ".join(map(repr, group)) for group in twins[:3])
                yield found("medium", "case-variants", len(twins),
                            f"spells values differently: {shown}")
        if kind in NUMERIC and len(self.sample) >= 12:
            low, _, high = self.quantiles()
            reach = 3 * (high - low)
            far = [(v, n) for v, n in self.sample if reach and not low - reach <= v <= high + reach]
            if far:
                shown = ", ".join(f"{v:g}" for v, _ in sorted(far, key=lambda x: -abs(x[0]))[:3])
                yield found("medium", "outliers", len(far),
                            f"has values far from the rest: {shown}", [n for _, n in far[:5]])
        if self.rows > 20 and not self.overflow and len(self.values) == 1 and not missing:
            yield found("low", "constant", self.rows, "has the same value in every row")


def profile(path, args):
    encoding, certain = (args.encoding, True) if args.encoding else detect_encoding(path)
    csv.field_size_limit(1 << 27)
    findings, columns, seen = [], [], set()
    rows = blank = ragged = repeated = 0
    ragged_lines, repeated_lines = [], []

    def found(severity, code, count, text, lines=()):
        findings.append({"severity": severity, "code": code, "column": None, "count": count,
                         "message": text, "lines": list(lines)})

    if not certain:
        found("high", "encoding", 1, "The file is not UTF-8; it was read as Windows-1252 for now.")
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        sample = file.read(1 << 16)
        if "\0" in sample:
            raise ProfileError("the file has NUL bytes; it is binary, or UTF-16 without a byte "
                               "order mark (try --encoding utf-16-le)")
        delimiter = args.delimiter or detect_delimiter(sample)
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter)
        first = next((row for row in reader if row), None)
        if first is None:
            raise ProfileError("the file has no rows")
        names = [""] * len(first) if args.no_header else [name.strip() for name in first]
        if not args.no_header:
            doubles = [n for n, c in Counter(names).items() if c > 1 and n]
            if doubles:
                found("high", "header-repeated", len(doubles),
                      f"Column names repeat: {doubles}.", [1])
            if "" in names:
                found("medium", "header-empty", names.count(""), "Columns have no name.", [1])
            if all(kind_of(n) not in ("text", "boolean") for n in names if n):
                found("high", "header-missing", 1,
                      "The first row looks like data (see --no-header).", [1])
        columns = [Column(name or f"column {number}", args.max_distinct)
                   for number, name in enumerate(names, 1)]
        for row in itertools.chain([first] if args.no_header else [], reader):
            if not any(field.strip() for field in row):
                blank += 1
                continue
            rows += 1
            if len(row) != len(columns):
                ragged += 1
                ragged_lines = (ragged_lines + [reader.line_num])[:5]
            key = hash(tuple(row))
            if key in seen:
                repeated += 1
                repeated_lines = (repeated_lines + [reader.line_num])[:5]
            elif len(seen) < args.max_distinct:
                seen.add(key)
            for column, value in zip(columns, row + [""] * (len(columns) - len(row))):
                column.add(value, reader.line_num)
    if ragged:
        found("high", "ragged-rows", ragged, f"Rows do not have {len(columns)} fields.",
              ragged_lines)
    if repeated:
        found("medium", "repeated-rows", repeated, "Rows repeat an earlier row exactly.",
              repeated_lines)
    if blank:
        found("low", "blank-rows", blank, "Rows are blank.")
    for column in columns:
        findings.extend(column.findings())
    findings.sort(key=lambda f: SEVERITIES.index(f["severity"]))
    return {
        "file": path.name,
        "encoding": encoding,
        "delimiter": DELIMITERS.get(delimiter, delimiter),
        "rows": rows,
        "columns": [column.summary() for column in columns],
        "candidate_keys": [column.name for column in columns if column.is_key()],
        "findings": findings,
    }


def cell(value):
    """Make a value safe inside a Markdown table."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    text = text.replace("|", "\\|").replace("\n", " ")
    return text if len(text) <= 40 else text[:37] + "..."


def as_markdown(result):
    keys = ", ".join(result["candidate_keys"]) or "none"
    lines = [
        f"# Profile of {result['file']}", "",
        f"{result['rows']} rows, {len(result['columns'])} columns, {result['encoding']}, "
        f"{result['delimiter']}-separated. Candidate keys: {keys}.",
        "", "## Findings", "",
    ]
    for f in result["findings"]:
        where = f" (line {', '.join(map(str, f['lines']))})" if f["lines"] else ""
        what = f"`{f['column']}` {f['message']}" if f["column"] else f["message"].rstrip(".")
        lines.append(f"- **{f['severity']}** {f['code']}, {f['count']}x: {what}{where}")
    if not result["findings"]:
        lines.append("None.")
    lines += ["", "## Columns", "",
              "| Column | Type | Filled | Empty | Distinct | Range | Frequent values |",
              "| --- | --- | --- | --- | --- | --- | --- |"]
    for c in result["columns"]:
        if "numbers" in c:
            n = c["numbers"]
            span = f"{cell(n['min'])} .. {cell(n['max'])}, median {cell(n['median'])}"
        else:
            span = f"length {c['length'][0]} .. {c['length'][1]}" if c["length"] else ""
        top = "" if c["unique"] else ", ".join(f"{cell(v)} ({n})" for v, n in c["top"][:3])
        lines.append(f"| {cell(c['name'])} | {c['type']} | {c['filled']} | {c['empty']} "
                     f"| {c['distinct']} | {span} | {top} |")
    return "\n".join(lines)


def one_character(text):
    text = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(text) != 1:
        raise argparse.ArgumentTypeError("must be one character, or 'tab'")
    return text


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="exit status: 0 no high finding, 1 at least one high finding, 2 cannot profile",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, help="the CSV file")
    parser.add_argument("--delimiter", type=one_character, help="instead of detecting it")
    parser.add_argument("--encoding", help="instead of detecting it")
    parser.add_argument("--no-header", action="store_true", help="the first row is data")
    parser.add_argument("--max-distinct", type=int, default=200_000, metavar="N",
                        help="values and rows to remember for counting (default: 200000)")
    parser.add_argument("--format", choices=("md", "json"), default="md")
    args = parser.parse_args()
    try:
        result = profile(args.file, args)
    except (ProfileError, OSError, csv.Error, LookupError) as error:
        print(f"profile_csv: {args.file}: {error}", file=sys.stderr)
        return 2
    print(json.dumps(result, indent=2, ensure_ascii=False) if args.format == "json"
          else as_markdown(result))
    return 1 if any(f["severity"] == "high" for f in result["findings"]) else 0


if __name__ == "__main__":
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)
