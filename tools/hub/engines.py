#!/usr/bin/env python3
"""Starts PostgreSQL and an S3 server for a hub on free ports of the loopback.

    python3 tools/hub/engines.py            # prints where they are as JSON, and runs until its input ends

`tools/hub/install-engines` installs both. PostgreSQL keeps its defaults for durability, so that what was
acknowledged survives `kill -9`.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ACCESS_KEY, SECRET_KEY = "hub", "hub-secret"
BUCKET = "skills"

START_SECONDS = 60


class Broken(Exception):
    """Something that is needed is not there, or did not start."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port: int, process: subprocess.Popen | None = None) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > end or (process and process.poll() is not None):
                raise Broken(f"nothing listens on port {port}") from None
            time.sleep(0.02)


def end_process(process: subprocess.Popen, sent: int = signal.SIGTERM) -> None:
    """Ends a process that this program started, with everything in its group."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, sent)
        except ProcessLookupError:
            pass
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Postgres:
    """A server of PostgreSQL with one database."""

    def __init__(self, folder: Path) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        on_path = shutil.which("initdb")
        if not found and not on_path:
            raise Broken("PostgreSQL is not installed; run `tools/hub/install-engines`")
        self.binaries = found[-1].parent if found else Path(on_path).parent
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen | None = None
        folder.mkdir(parents=True)
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root.
            user = pwd.getpwnam("postgres")
            os.chown(folder, user.pw_uid, user.pw_gid)
            self.prefix = ["runuser", "-u", "postgres", "--"]
        else:
            self.prefix = []
        self._run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "hub", "-E", "UTF8", "--locale=C")

    def _run(self, name: str, *arguments: str) -> str:
        command = [*self.prefix, str(self.binaries / name), *arguments]
        ended = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False)
        if ended.returncode != 0:
            raise Broken(f"`{name}` failed: {ended.stderr.strip()}")
        return ended.stdout

    def start(self) -> None:
        """Starts the server; after `kill -9` the first attempts may be refused."""
        options = ["-D", str(self.folder / "data"), "-k", str(self.folder), "-p", str(self.port)]
        options += ["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"]
        end = time.monotonic() + START_SECONDS
        while True:
            with (self.folder.parent / "postgres.log").open("ab") as log:
                self.process = subprocess.Popen(
                    [*self.prefix, str(self.binaries / "postgres"), *options],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True,
                )
            while self.process.poll() is None:
                ready = [str(self.binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
                if subprocess.run(ready, check=False).returncode == 0:
                    return
                if time.monotonic() > end:
                    end_process(self.process, signal.SIGKILL)
                    raise Broken("PostgreSQL did not start in time")
                time.sleep(0.05)
            if time.monotonic() > end:
                log = (self.folder.parent / "postgres.log").read_text(errors="replace")
                raise Broken(f"PostgreSQL does not start: {log[-2000:]}")
            time.sleep(0.2)

    def create(self, name: str) -> None:
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "hub", name)

    def url(self, name: str, port: int | None = None) -> str:
        return f"postgres://hub@127.0.0.1:{port or self.port}/{name}"

    def kill(self) -> None:
        """As a power cut: every process of the server at once."""
        postmaster = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        family = [postmaster, *children_of(postmaster)]
        for process in family:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        end_process(self.process, signal.SIGKILL)

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            postmaster = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
            os.kill(postmaster, signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                end_process(self.process, signal.SIGKILL)


def children_of(parent: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(status.parent.name))
    return found


class S3Server:
    """A server that speaks S3 and keeps its data in a folder."""

    def __init__(self, folder: Path) -> None:
        installed = ROOT / "target" / "hub-engines" / "bin" / "s3s-fs"
        program = installed if installed.exists() else shutil.which("s3s-fs")
        if not program:
            raise Broken("no S3 server (`s3s-fs`) is installed; run `tools/hub/install-engines`")
        self.program = str(program)
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen | None = None
        (folder / BUCKET).mkdir(parents=True)

    def start(self) -> None:
        command = [self.program, "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY, str(self.folder)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"RUST_LOG": "off"}, start_new_session=True,
        )
        wait_for_port(self.port, self.process)

    def endpoint(self, port: int | None = None) -> str:
        return f"http://127.0.0.1:{port or self.port}"

    def kill(self) -> None:
        end_process(self.process, signal.SIGKILL)

    def stop(self) -> None:
        if self.process:
            end_process(self.process)


class Engines:
    """Both servers, for the length of a `with` block."""

    def __enter__(self) -> Engines:
        # A program that is told to end leaves no server behind.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        self.scratch = Path(tempfile.mkdtemp(prefix="skillwire-hub-"))
        # The user of PostgreSQL must get into its folder.
        self.scratch.chmod(0o755)
        try:
            self.postgres = Postgres(self.scratch / "postgres")
            self.s3 = S3Server(self.scratch / "s3")
            self.postgres.start()
            self.s3.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for part in ("s3", "postgres"):
            if server := getattr(self, part, None):
                server.stop()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def configuration(self, database: str, postgres_port: int | None = None, s3_port: int | None = None) -> str:
        """The two tables of a `hub.toml` that uses these servers."""
        return (
            f'[database]\nurl = "{self.postgres.url(database, postgres_port)}"\n\n'
            f'[blobs]\nurl = "s3://{BUCKET}/{database}"\nendpoint = "{self.s3.endpoint(s3_port)}"\n'
            f'access-key = "{ACCESS_KEY}"\nsecret-key = "{SECRET_KEY}"\n'
        )


def main() -> int:
    try:
        with Engines() as engines:
            databases = ["hub1", "hub2", "hub3", "hub4"]
            for name in databases:
                engines.postgres.create(name)
            tables = {name: engines.configuration(name) for name in databases}
            print(json.dumps(tables), flush=True)
            sys.stdin.read()
    except Broken as reason:
        print(f"error: {reason}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
