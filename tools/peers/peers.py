"""What the checks share: finding the tools, running them, and a server that is always stopped.

The tools come from `npm ci --ignore-scripts` in this folder. They need Node.js 22, which that
command also brings for Linux; elsewhere a `node` on the PATH is used when it is new enough.
"""

from __future__ import annotations

import json
import os
import queue
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent
PACKAGES = HERE / "node_modules"
NODE_MAJOR = 22

READY_SECONDS = 60
STOP_SECONDS = 15
TOOL_SECONDS = 120

LISTENING = re.compile(r"listening on (http://\S+/mcp)")


class Broken(Exception):
    """The check itself could not be carried out; the message says why."""


def node() -> str:
    """A Node.js the tools can run on."""
    installed = sorted(PACKAGES.glob("node-*/bin/node"))
    candidates = [str(path) for path in installed] + [shutil.which("node") or ""]
    for candidate in filter(None, candidates):
        try:
            version = run_process([candidate, "--version"]).stdout.strip()
        except OSError:
            continue
        if (major := re.match(r"v(\d+)\.", version)) and int(major[1]) >= NODE_MAJOR:
            return candidate
    raise Broken(f"no Node.js {NODE_MAJOR} found; run `npm ci --ignore-scripts` in {HERE}")


def tool(path: str) -> list[str]:
    """The command line that starts a script of an installed package."""
    script = PACKAGES / path
    if not script.is_file():
        raise Broken(f"{script} is missing; run `npm ci --ignore-scripts` in {HERE}")
    return [node(), str(script)]


def run_process(
    command: list[str], home: str | None = None, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, or ends it after `TOOL_SECONDS`.

    With `home` the command sees that folder as the user's own, so that it leaves nothing behind.
    """
    environment = os.environ | {"NO_COLOR": "1"} | ({"HOME": home} if home else {})
    environment |= variables or {}
    try:
        return subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=TOOL_SECONDS,
            env=environment,
            cwd=home,
        )
    except subprocess.TimeoutExpired as late:
        raise Broken(f"no end after {TOOL_SECONDS} s: {' '.join(command)}") from late


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A temporary folder, removed at the end of its `with`."""
    return tempfile.TemporaryDirectory(prefix="skillwire-peers-")


def serve(binary: Path, skills: Path, *options: str) -> list[str]:
    """The command line of `skillwire serve` on a free port."""
    return [str(binary), "serve", str(skills), "--http", "127.0.0.1:0", *options]


UPSTREAM = "behind"


def pass_on(binary: Path, skills: Path, home: str) -> list[str]:
    """The command line of `skillwire serve` that passes on another one over the folder.

    What it needs to know of the other one is written into `home`, its `SKILLWIRE_HOME`.
    """
    other = [str(binary), "serve", "--no-index", str(skills)]
    add = [str(binary), "server", "add", UPSTREAM, "--", *other]
    added = run_process(add, variables={"SKILLWIRE_HOME": home})
    if added.returncode != 0:
        raise Broken(f"the other server cannot be configured:\n{added.stderr}")
    return [str(binary), "serve", "--upstream", UPSTREAM]


class Server:
    """A server on a free port of the loopback, for the length of a `with` block.

    The block yields the address. Leaving it stops the server, and fails when the server had
    already ended by itself or does not stop when asked to.
    """

    def __init__(
        self,
        command: list[str],
        speaks_on: str = "stderr",
        variables: dict[str, str] | None = None,
    ) -> None:
        self.command = command
        self.variables = variables or {}
        self.speaks_on = speaks_on
        self.log: deque[str] = deque(maxlen=20)
        self.address: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    @classmethod
    def skillwire(cls, binary: Path, skills: Path, *options: str) -> Server:
        """`skillwire serve --http` over a folder."""
        return cls(serve(binary, skills, *options))

    def __enter__(self) -> str:
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        streams[self.speaks_on] = subprocess.PIPE
        self.process = subprocess.Popen(
            self.command,
            # Some servers live as long as their input.
            stdin=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=os.environ | self.variables,
            **streams,
        )
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()
        try:
            address = self.address.get(timeout=READY_SECONDS)
            if address is not None:
                self._wait_until_reachable(address)
        except queue.Empty:
            self._stop()
            raise self._broken(f"did not say where it listens within {READY_SECONDS} s") from None
        except BaseException:
            self._stop()
            raise
        if address is None:
            self._stop()
            raise self._broken("ended before it listened")
        return address

    def _wait_until_reachable(self, address: str) -> None:
        """Some servers say where they will listen before they do."""
        url = urlsplit(address)
        end = time.monotonic() + READY_SECONDS
        while True:
            try:
                socket.create_connection((url.hostname, url.port), timeout=1).close()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise self._broken(f"cannot be reached at {address}") from None
                time.sleep(0.02)

    def __exit__(self, kind: object, *_: object) -> None:
        ended = self.process.poll()
        stopped = self._stop()
        if ended is not None:
            raise self._broken(f"ended by itself with code {ended}")
        if kind is None and not stopped:
            raise self._broken(f"did not stop within {STOP_SECONDS} s")

    def _read_log(self) -> None:
        output = getattr(self.process, self.speaks_on)
        for line in output:
            self.log.append(line.rstrip("\n"))
            if found := LISTENING.fullmatch(self.log[-1]):
                self.address.put(found[1])
        self.address.put(None)

    def _stop(self) -> bool:
        """Ends the process; false when it had to be killed."""
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
            return True
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return False
        finally:
            self.reader.join(STOP_SECONDS)

    def _broken(self, what: str) -> Broken:
        return Broken("\n  ".join([f"the server {what}: {' '.join(self.command)}", *self.log]))


class Hub:
    """A hub on SQLite with one private namespace, served for the length of a `with` block.

    The block yields the address of `/mcp`. `token` may do everything, and `reader` may read.
    """

    namespace = "peers"

    def __init__(self, binary: Path, home: str, configuration: str = "") -> None:
        self.binary = str(binary)
        self.home = home
        self.folder = Path(home) / "hub"
        self.token = json.loads(self.run("hub", "init", str(self.folder), "--json"))["token"]
        if configuration:
            file = self.folder / "hub.toml"
            file.write_text(configuration + file.read_text().replace("private-issuers = []\n", ""))
        self.run("hub", "namespace", "new", self.namespace, "--hub", str(self.folder))
        self.run("hub", "namespace", "grant", self.namespace, "reader", "reader", "--hub", str(self.folder))
        made = self.run("hub", "token", "new", "reader", "--scope", "read", "--hub", str(self.folder), "--json")
        self.reader = json.loads(made)["token"]

    def run(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> str:
        variables = {"SKILLWIRE_HOME": str(Path(self.home) / "skillwire")}
        ended = run_process([self.binary, *arguments], variables=variables)
        if ended.returncode not in codes:
            said = f"{ended.stdout}{ended.stderr}".strip()
            raise Broken(f"`skillwire {' '.join(arguments[:2])}` ended with code {ended.returncode}:\n{said}")
        return ended.stdout

    def fill(self, skills: Path) -> set[str]:
        """Publishes the skills of a folder; returns the names of those that the hub took."""
        arguments = ["hub", "import", str(skills), "--namespace", self.namespace, "--yes", "--json"]
        # A skill inside another one is published alone, and the other one not at all.
        told = json.loads(self.run(*arguments, "--hub", str(self.folder), codes=(0, 1, 3, 8)))
        return {one["version"]["skill"].partition("/")[2] for one in told if one.get("version")}

    def put_behind(self, skills: Path) -> None:
        """Puts a server over a folder behind the hub, with the label `UPSTREAM`, for `reader` to read."""
        other = [self.binary, "serve", "--no-index", str(skills)]
        to = ["--hub", str(self.folder)]
        self.run("hub", "upstream", "add", UPSTREAM, "--mode", "passthrough", *to, "--", *other)
        self.run("hub", "namespace", "grant", UPSTREAM, "reader", "reader", *to)

    def __enter__(self) -> str:
        self.server = Server([self.binary, "hub", "serve", str(self.folder), "--listen", "127.0.0.1:0"])
        return self.server.__enter__()

    def __exit__(self, *given: object) -> None:
        self.server.__exit__(*given)


def mounts(url: str) -> list[tuple[str, str]]:
    """The address of the upstream behind a hub and that of the whole hub, each with a title."""
    return [("an upstream of a hub", f"{url}/u/{UPSTREAM}"), ("a hub with an upstream", url)]


def wait_for_skills(url: str) -> None:
    """Waits until a server that takes requests without a token lists a skill."""
    key = "io.modelcontextprotocol/"
    meta = {f"{key}protocolVersion": "2026-07-28", f"{key}clientInfo": {"name": "peers", "version": "1"}}
    meta |= {f"{key}clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "skills/list", "params": {"_meta": meta}}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "skills/list",
    }
    end = time.monotonic() + READY_SECONDS
    while True:
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                if json.load(answer)["result"]["skills"]:
                    return
        except urllib.error.HTTPError as refused:
            if refused.code != 404:
                raise Broken(f"{url} answers with HTTP status {refused.code}") from refused
        if time.monotonic() > end:
            raise Broken(f"{url} lists no skill within {READY_SECONDS} s")
        time.sleep(0.1)


class Tally:
    """Prints one line per run as it ends, its problems below, and a closing line."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.passed = 0
        self.failed = 0

    def add(self, title: str, passed: int, problems: list[str], note: str = "") -> None:
        self.passed += passed
        self.failed += len(problems)
        counts = f"{passed} passed, {len(problems)} failed"
        print(f"{title}: {counts}{f', {note}' if note else ''}", flush=True)
        for problem in problems:
            print("  " + problem.replace("\n", "\n    "), flush=True)

    def close(self) -> int:
        """The closing line and the exit code."""
        print(f"{self.name}: {self.passed} passed, {self.failed} failed", flush=True)
        return 0 if self.passed and not self.failed else 1
