#!/usr/bin/env python3
"""Writes vectors.json: contents of skills and the identity that each must have.

It shares no code with the Rust implementation, which is tested against what it writes:

    python3 testdata/content-id/make.py > testdata/content-id/vectors.json
"""

import hashlib
import json
import sys
import unicodedata

SKILL = b"---\nname: a\ndescription: Does a.\n---\n"

ACCEPTED = [
    ("one file", {"SKILL.md": SKILL}),
    ("no file at all", {}),
    ("an empty file has a size and a digest", {"SKILL.md": SKILL, "empty": b""}),
    ("bytes that are no text", {"SKILL.md": SKILL, "logo.bin": bytes(range(256))}),
    ("the order is bytewise over the whole path, and `/` is a byte like others",
     {"SKILL.md": SKILL, "a/b": b"1", "a-b": b"2", "a0b": b"3", "a": b"4", "B": b"5", "a/B": b"6"}),
    ("UTF-8 order differs from the order of UTF-16 units",
     {"SKILL.md": SKILL, "\uff5e": b"1", "\U0001f600": b"2", "\u00e9": b"3"}),
    ("two Unicode forms of one name are two names",
     {"SKILL.md": SKILL, unicodedata.normalize("NFC", "\u00e9.md"): b"1",
      unicodedata.normalize("NFD", "\u00e9.md"): b"1"}),
    ("paths stand raw: blanks, percent signs and backslashes are not encoded",
     {"SKILL.md": SKILL, "a b.md": b"1", "100%25.md": b"2", "c\\d": b"3", " lead": b"4"}),
    ("another path is another content", {"SKILL.md": SKILL, "x/y.md": b"1"}),
    ("hidden characters that are not control characters are part of a name",
     {"SKILL.md": SKILL, "a\u200bb": b"1", "c\u202ed": b"2"}),
]

REFUSED = [
    ("a line feed would make two lines of one", ["SKILL.md", "a\nb"]),
    ("a NUL", ["a\0b"]),
    ("a tab", ["a\tb"]),
    ("an escape", ["\x1b[2J"]),
    ("DEL", ["a\x7f"]),
    ("a C1 control", ["a\u0085b"]),
    ("a path that is there twice", ["SKILL.md", "a", "a"]),
]


def identity(files):
    lines = b""
    for path in sorted(path.encode("utf-8") for path in files):
        content = files[path.decode("utf-8")]
        digest = hashlib.sha256(content).hexdigest()
        lines += b"%s %d %s\n" % (digest.encode("ascii"), len(content), path)
    return "sha256:" + hashlib.sha256(lines).hexdigest()


def main():
    accepted = [
        {
            "about": about,
            "files": [
                {"path": path, "hex": content.hex()}
                for path, content in files.items()
            ],
            "id": identity(files),
        }
        for about, files in ACCEPTED
    ]
    refused = [{"about": about, "paths": paths} for about, paths in REFUSED]
    json.dump({"accepted": accepted, "refused": refused}, sys.stdout, indent=2)
    print()


main()
