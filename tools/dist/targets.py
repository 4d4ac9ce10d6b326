"""The targets that are built, and what package managers call them."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SUMMARY = "Checks, serves and uses Agent Skills over MCP."
LICENCE = "Apache-2.0 OR MIT"
LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")


@dataclass(frozen=True)
class Target:
    """One system: its name in Rust, in npm (`os`, `cpu`) and the tags of its wheel."""

    triple: str
    os: str
    cpu: str
    wheel: str

    @property
    def program(self) -> str:
        return "skillwire.exe" if self.os == "win32" else "skillwire"

    @property
    def package(self) -> str:
        """The npm package that carries the program for this system."""
        return f"@skillwire/{self.os}-{self.cpu}"


# A static program runs with glibc and with musl, so its wheel has a tag for each.
TARGETS = {
    target.triple: target
    for target in (
        Target("x86_64-unknown-linux-musl", "linux", "x64", "manylinux2014_x86_64.musllinux_1_1_x86_64"),
        Target("aarch64-unknown-linux-musl", "linux", "arm64", "manylinux2014_aarch64.musllinux_1_1_aarch64"),
        Target("x86_64-apple-darwin", "darwin", "x64", "macosx_10_12_x86_64"),
        Target("aarch64-apple-darwin", "darwin", "arm64", "macosx_11_0_arm64"),
        Target("x86_64-pc-windows-gnu", "win32", "x64", "win_amd64"),
    )
}


def version() -> str:
    """The version of the workspace."""
    text = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    found = re.search(r'^version = "([^"]+)"', text, re.MULTILINE)
    if not found:
        raise SystemExit("Cargo.toml has no version.")
    return found[1]


def commit_time() -> int:
    """The time of the commit, which files in archives get."""
    command = ["git", "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)


def parse_pair(text: str) -> tuple[Target, Path]:
    """Reads `TARGET=BINARY`."""
    triple, _, path = text.partition("=")
    if triple not in TARGETS:
        raise SystemExit(f"`{triple}` is not a target; there are {', '.join(TARGETS)}.")
    if not Path(path).is_file():
        raise SystemExit(f"`{path}` is not a file; write TARGET=BINARY.")
    return TARGETS[triple], Path(path)
