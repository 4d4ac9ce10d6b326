#!/usr/bin/env python3
"""Puts servers that other people wrote behind a hub, in every mode, and uses them at both addresses.

    python3 tools/peers/upstreams.py target/debug/skillwire

The servers are npm `@modelcontextprotocol/server`, npm `@olaservo/ext-skills` and PyPI `fastmcp`. They end, come
back with a changed file, an added file, other frontmatter, one skill more and one less, change their files while
they run, lie (a proxy in front of them does), and fall silent. Each time the hub must list, answer, hide or keep
back at both addresses what the mode says. Then both official clients use tools and resources of two of the
servers in both eras, at both addresses, and of the server itself.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

from bridge import ERAS, Client, clients
from host import PEERS, Peer, python, script
from peers import Broken, Hub, Server, Tally, scratch
from token_proxy import close, copy

PATIENCE = 20
# The hub lists a server that announces nothing once a minute.
LISTING = 60 + PATIENCE
LABEL = "behind"
MODES = ["passthrough", "observe", "admit", "pin"]
NOT_FOUND = -32602
LIMITS = ["--limit", "answer-ms=2000", "--limit", "pause-ms=500"]


class Behind(Hub):
    """A hub with upstreams, asked as the reader."""

    url = ""

    def add(self, label: str, url: str, mode: str, *terms: str) -> None:
        self.run("hub", "upstream", "add", label, url, "--mode", mode, *terms, "--hub", str(self.folder))
        self.run("hub", "namespace", "grant", label, "reader", "reader", "--hub", str(self.folder))

    def ask(self, url: str, method: str, params: dict) -> dict:
        """One request of the modern era; the whole message."""
        version = "2026-07-28"
        key = "io.modelcontextprotocol/"
        meta = {f"{key}protocolVersion": version, f"{key}clientInfo": {"name": "peers", "version": "1"}}
        params = params | {"_meta": meta | {f"{key}clientCapabilities": {}}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        headers = {
            "Authorization": f"Bearer {self.reader}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": version,
            "Mcp-Method": method,
        }
        if name := params.get("uri") or params.get("name"):
            headers["Mcp-Name"] = name
        request = urllib.request.Request(url, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            try:
                return json.load(refused)
            except ValueError:
                # The address is not there yet.
                return {"error": {"code": refused.code}}

    def entries(self, url: str) -> dict[str, dict]:
        found, cursor = {}, {}
        while True:
            page = self.ask(url, "skills/list", cursor).get("result", {})
            found |= {entry["uri"]: entry for entry in page.get("skills", [])}
            if not page.get("nextCursor"):
                return found
            cursor = {"cursor": page["nextCursor"]}

    def read(self, url: str, uri: str) -> str | int:
        """The text of a file, or the code of the error."""
        told = self.ask(url, "resources/read", {"uri": uri})
        if "error" in told:
            return told["error"]["code"]
        return told["result"]["contents"][0].get("text", "")

    def waiting(self, label: str) -> dict[str, int]:
        """The skills of an upstream that wait for a decision, each with its number."""
        told = self.run("hub", "review", "--upstream", label, "--json", "--hub", str(self.folder))
        return {one["skill"].split("/")[-2]: one["id"] for one in json.loads(told)}

    def decide(self, verdict: str, label: str, names: set[str] | None = None) -> None:
        """Approves or rejects what waits, or only what is named."""
        numbers = [str(number) for name, number in self.waiting(label).items() if names is None or name in names]
        self.run("hub", "review", verdict, *numbers, "--reason", "read it", "--hub", str(self.folder))

    def health(self, label: str) -> str:
        """How an upstream is doing, as the hub that follows it says."""
        request = urllib.request.Request(
            self.url.removesuffix("/mcp") + "/api/v1/upstreams", headers={"Authorization": f"Bearer {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            items = json.load(answer)["items"]
        return next(one["status"]["health"] for one in items if one["label"] == label)

    def offered(self, label: str) -> dict[str, int]:
        """How many contents of each skill an upstream offered, by the audit log."""
        came = [entry for entry in self.audit("offer") if json.loads(entry["details"]) != {"offered": False}]
        parts = [entry["target"].split("/") for entry in came]
        return Counter(part[2] for part in parts if part[0] == f"{label}:skill:")

    def audit(self, action: str) -> list[dict]:
        told = self.run("hub", "audit", "--action", action, "--limit", "1000", "--json", "--hub", str(self.folder))
        return json.loads(told)


def until(what: str, probe: Callable[[], object], expected: object, seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while (now := probe()) != expected:
        if time.monotonic() > end:
            raise Broken(f"{what}: {str(now)[:600]}, expected {str(expected)[:600]}")
        time.sleep(0.1)


READ, UNREAD, ADDED = "references/read.md", "references/unread.md", "references/added.md"
OLD, NEW = "A skill.", "Another description."

# What becomes of each skill while its server is away.
FATES = ["same", "changed", "grown", "described", "refused", "removed"]
BORN = "born"
# What a reviewer is asked about afterwards.
WAITING = {"changed", "grown", "described", "refused", BORN}


def unread(name: str, word: str) -> str:
    """The text of a file that differs from every file that is read: a hub may have the same bytes from then."""
    return f"{word}, {name}\n"


def write(folder: Path, name: str, word: str, description: str = OLD) -> None:
    skill = folder / name
    (skill / "references").mkdir(parents=True, exist_ok=True)
    body = f"Read `{READ}` and `{UNREAD}`."
    (skill / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n")
    (skill / READ).write_text(f"{word}\n")
    (skill / UNREAD).write_text(unread(name, word))


def fulfil(folder: Path) -> None:
    """Changes a folder as the names of its skills say."""
    write(folder, "changed", "two")
    write(folder, "refused", "two")
    (folder / "grown" / ADDED).write_text("added\n")
    write(folder, "described", "one", NEW)
    shutil.rmtree(folder / "removed")
    write(folder, BORN, "one")


class Door:
    """An address that leads to one server after another, or to none, for the length of a `with` block."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.target: tuple[str, int] | None = None
        self.open: list[socket.socket] = []
        self.is_silent = False
        self.lie: tuple[bytes, bytes] | None = None
        self.lies = 0

    def __enter__(self) -> Door:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.lead_to(None)
        self.listener.close()

    @property
    def url(self) -> str:
        host, port = self.listener.getsockname()
        return f"http://{host}:{port}/mcp"

    def lead_to(self, url: str | None) -> None:
        """Leads to another server from now on; connections to the one before end."""
        at = urlsplit(url) if url else None
        self.target = (at.hostname, at.port) if at else None
        connections, self.open = self.open, []
        close(*connections)

    def fall_silent(self) -> None:
        """Takes connections from now on and never answers."""
        self.is_silent = True
        self.lead_to(None)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.is_silent:
                self.open.append(client)
                continue
            try:
                server = socket.create_connection(self.target or ("127.0.0.1", 1), timeout=5)
                server.settimeout(None)
            except OSError:
                client.close()
                continue
            self.open += [client, server]
            threading.Thread(target=copy, args=(client, server), daemon=True).start()
            threading.Thread(target=self._answer, args=(server, client), daemon=True).start()

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        """Copies answers, with other words of the same length in place of some while the server shall lie."""
        try:
            while more := server.recv(65536):
                if self.lie and self.lie[0] in more:
                    self.lies += 1
                    more = more.replace(*self.lie)
                client.sendall(more)
        except OSError:
            pass
        finally:
            close(client, server)


class Combination:
    """One server in one mode, and what clients see of it at both addresses."""

    def __init__(self, hub: Behind, peer: Peer, short: str, mode: str) -> None:
        self.hub = hub
        self.peer = peer
        self.title = f"{peer.name}, {mode}"
        self.label = f"{short}-{mode}"
        self.mode = mode
        self.is_reviewed = mode in {"admit", "pin"}
        self.address = ""
        self.door: Door | None = None
        self.passed = 0
        self.problem: str | None = None

    def mounts(self) -> list[tuple[str, str]]:
        return [(f"{self.hub.url}/u/{self.label}", "skill://"), (self.hub.url, f"skill://{self.label}/")]

    def chapter(self, tell: Callable[[Combination], None]) -> None:
        """A chapter of the story, unless one before went wrong."""
        if self.problem is None:
            try:
                tell(self)
            except (Broken, OSError, ValueError, KeyError) as reason:
                self.problem = f"{type(reason).__name__}: {reason}"

    def expect(
        self, what: str, probe: Callable[[], object], expected: object, seconds: float = PATIENCE
    ) -> None:
        until(what, probe, expected, seconds)
        self.passed += 1

    def lists(self, names: set[str], what: str) -> None:
        for mount, prefix in self.mounts():
            self.expect(f"{what}: listed at {mount}", lambda m=mount, p=prefix: self.listed(m, p), names)

    def listed(self, mount: str, prefix: str) -> set[str]:
        uris = self.hub.entries(mount)
        if mount != self.hub.url and any(not uri.startswith(prefix) for uri in uris):
            raise Broken(f"{mount} lists {sorted(uris)}")
        own = [uri for uri in uris if uri.startswith(prefix)]
        return {uri.removeprefix(prefix).removesuffix("/SKILL.md") for uri in own}

    def reads(self, name: str, file: str, expected: str | int, what: str) -> None:
        for mount, prefix in self.mounts():
            uri = f"{prefix}{name}/{file}"
            self.expect(f"{what}: {uri} at {mount}", lambda m=mount, u=uri: self.hub.read(m, u), expected)

    def is_unreachable(self, name: str, file: str, what: str) -> None:
        """A file that is listed and cannot be read now is not said to be unknown."""
        for mount, prefix in self.mounts():
            told = self.hub.read(mount, f"{prefix}{name}/{file}")
            if not isinstance(told, int) or told == NOT_FOUND:
                raise Broken(f"{what}: {name}/{file} at {mount} was answered with {told!r}")
            self.passed += 1

    def describes(self, name: str, expected: str | None, what: str) -> None:
        """The description in the entry, or that there is none."""

        def described(mount: str, uri: str) -> str | None:
            entry = self.hub.entries(mount).get(uri)
            return entry["frontmatter"]["description"] if entry else None

        for mount, prefix in self.mounts():
            uri = f"{prefix}{name}/SKILL.md"
            self.expect(f"{what}: {uri} at {mount}", lambda m=mount, u=uri: described(m, u), expected)

    def waits(self, names: set[str], what: str) -> None:
        names = names if self.is_reviewed else set()
        self.expect(f"{what}: waiting", lambda: set(self.hub.waiting(self.label)), names)

    def reads_as(self, name: str, file: str, old: str | int, new: str | int, what: str) -> None:
        """Changed content before anything is decided: served, hidden or kept back."""
        expected = {"admit": NOT_FOUND, "pin": old}.get(self.mode, new)
        self.reads(name, file, expected, what)

    def is_honest(self, name: str, file: str, what: str) -> None:
        """A file is answered with the bytes that the entry names, or not at all."""
        for mount, prefix in self.mounts():
            skill, uri = f"{prefix}{name}/SKILL.md", f"{prefix}{name}/{file}"
            # The server may be listed again in between.
            before = self.hub.entries(mount)[skill]["resources"]
            told = self.hub.read(mount, uri)
            after = self.hub.entries(mount)[skill]["resources"]
            if isinstance(told, str):
                digest = f"sha256:{hashlib.sha256(told.encode()).hexdigest()}"
                if (uri, digest) not in {(one["uri"], one["digest"]) for one in before + after}:
                    raise Broken(f"{what}: {uri} at {mount} was answered with {told!r}")
            self.passed += 1

def unchanged(it: Combination) -> None:
    if it.is_reviewed:
        it.waits(set(FATES), "new")
        it.lists(set(), "before the decision")
        it.reads("same", READ, NOT_FOUND, "before the decision")
        it.hub.decide("approve", it.label)
    it.lists(set(FATES), "unchanged")
    for name in FATES:
        it.reads(name, READ, "one\n", "unchanged")


def gone(it: Combination) -> None:
    it.expect("is the server there", lambda: it.hub.health(it.label) == "answering", False, LISTING)
    it.lists(set(FATES), "the server is gone")
    if it.is_reviewed:
        for name in FATES:
            it.reads(name, UNREAD, unread(name, "one"), "the server is gone")
    else:
        it.is_unreachable("same", UNREAD, "the server is gone")


def back(it: Combination) -> None:
    it.waits(WAITING, "back")
    now = {*FATES, BORN} - {"removed"}
    it.lists({"admit": {"same"}, "pin": set(FATES)}.get(it.mode, now), "back")
    it.reads("same", READ, "one\n", "unchanged, back")
    it.reads("same", UNREAD, unread("same", "one"), "unchanged, back")
    it.reads_as("changed", READ, "one\n", "two\n", "a changed file")
    it.reads_as("grown", ADDED, NOT_FOUND, "added\n", "an added file")
    it.reads_as("grown", READ, "one\n", "one\n", "beside an added file")
    it.describes("described", {"admit": None, "pin": OLD}.get(it.mode, NEW), "other frontmatter")
    it.reads("removed", READ, "one\n" if it.mode == "pin" else NOT_FOUND, "a removed skill")
    it.reads_as(BORN, READ, NOT_FOUND, "one\n", "a new skill")


def decided(it: Combination) -> None:
    if it.is_reviewed:
        it.hub.decide("reject", it.label, {"refused"})
        it.hub.decide("approve", it.label)
    it.waits(set(), "decided")
    shown = {*FATES, BORN} - {"removed"}
    shown -= {"refused"} if it.mode == "admit" else set()
    shown |= {"removed"} if it.mode == "pin" else set()
    it.lists(shown, "decided")
    it.reads("changed", READ, "two\n", "a changed file, approved")
    it.reads("grown", ADDED, "added\n", "an added file, approved")
    it.describes("described", NEW, "other frontmatter, approved")
    it.reads(BORN, READ, "one\n", "a new skill, approved")
    it.reads_as("refused", READ, "one\n", "two\n", "rejected")


def recorded(it: Combination) -> None:
    """The audit log names each content that the upstream offered, unless nothing is looked at."""
    offered = dict.fromkeys(FATES, 1) | dict.fromkeys(WAITING - {BORN}, 2) | {BORN: 1}
    expected = Counter() if it.mode == "passthrough" else Counter(offered)
    it.expect("the log", lambda: it.hub.offered(it.label), expected)


def changed_in_place(it: Combination) -> None:
    """The files of the server change while it runs, and it says nothing. What it then answers is its own affair."""
    if it.is_reviewed:
        it.reads(BORN, UNREAD, unread(BORN, "one"), "changed in place")
        return
    it.is_honest(BORN, UNREAD, "changed in place")
    told = it.hub.read(it.address, f"skill://{BORN}/{UNREAD}")
    if isinstance(told, str):
        it.reads(BORN, UNREAD, told, "changed in place")
    else:
        it.is_unreachable(BORN, UNREAD, "changed in place")


def lying(it: Combination) -> None:
    """A file comes with other bytes than the server lists."""
    text = unread("described", "one")
    if it.is_reviewed:
        it.reads("described", UNREAD, text, "the server lies")
        return
    lies = it.door.lies
    for mount, prefix in it.mounts():
        told = it.hub.read(mount, f"{prefix}described/{UNREAD}")
        if not isinstance(told, int):
            raise Broken(f"the server lies: {mount} answered with {told!r}")
        it.passed += 1
    it.expect("did the server lie", lambda: it.door.lies > lies, True)


def honest_again(it: Combination) -> None:
    it.reads("described", UNREAD, unread("described", "one"), "honest again")


def silent(it: Combination) -> None:
    """The server takes requests and never answers."""
    if it.is_reviewed:
        it.reads("changed", UNREAD, unread("changed", "two"), "the server is silent")
    else:
        it.is_unreachable("changed", UNREAD, "the server is silent")


SHORT = ["official", "olaservo", "fastmcp"]


def scenarios(binary: Path, tally: Tally) -> None:
    """Each server in each mode behind one hub: as it is, gone, and back with changes, which are then decided."""
    with scratch() as home, ExitStack() as doors:
        hub = Behind(binary, home)
        sites = []
        for short, peer in zip(SHORT, PEERS, strict=True):
            folder = Path(home) / short
            for name in FATES:
                write(folder, name, "one")
            sites.append((peer, folder, doors.enter_context(Door())))
        combinations = [
            Combination(hub, peer, short, mode) for short, peer in zip(SHORT, PEERS) for mode in MODES
        ]

        def serve(servers: ExitStack) -> None:
            for peer, folder, door in sites:
                command = [*peer.command(), str(folder), "--http"]
                address = servers.enter_context(Server(command, speaks_on="stdout"))
                door.lead_to(address)
                for it in combinations:
                    if it.peer is peer:
                        it.address, it.door = address, door

        def tell(chapter: Callable[[Combination], None]) -> None:
            for it in combinations:
                it.chapter(chapter)

        with hub as url:
            hub.url = url
            with ExitStack() as servers:
                serve(servers)
                for short, (_, _, door) in zip(SHORT, sites):
                    for mode in MODES:
                        hub.add(f"{short}-{mode}", door.url, mode, *LIMITS)
                tell(unchanged)
            for _, folder, door in sites:
                door.lead_to(None)
                fulfil(folder)
            tell(gone)
            with ExitStack() as servers:
                serve(servers)
                tell(back)
                tell(decided)
                tell(recorded)
                for _, folder, _ in sites:
                    write(folder, BORN, "lie")
                tell(changed_in_place)
                for _, _, door in sites:
                    door.lie = (b"one, described", b"lie, described")
                tell(lying)
                for _, _, door in sites:
                    door.lie = None
                tell(honest_again)
                for _, _, door in sites:
                    door.fall_silent()
                tell(silent)
        for it in combinations:
            tally.add(it.title, it.passed, [it.problem] if it.problem else [])


# What the operator of the hub names: one tool, and the resources of one scheme.
TERMS = ["--tool", "find", "--resource", "notes:///**"]
# What a hub adds, for clients that do not know the extension.
OWN_TOOLS = ["list_skills", "load_skill", "read_skill_file", "search_skills"]
OFFERED = ["find", "notes:///one", "notes:///by-name/ana"]


def offers(binary: Path, peer: Peer) -> Iterator[tuple[str, list[str]]]:
    """What each official client finds wrong with tools and resources at each address, in each era."""
    with scratch() as home:
        folder = Path(home) / "skills"
        write(folder, "alpha", "one")
        hub = Behind(binary, home)
        with Server([*peer.command(), str(folder), "--http"], speaks_on="stdout") as address, hub as url:
            hub.add(LABEL, address, "admit", *TERMS)
            own = f"{url}/u/{LABEL}"
            until("waiting", lambda: set(hub.waiting(LABEL)), {"alpha"})
            hub.decide("approve", LABEL)
            until("approved", lambda: len(hub.entries(own)), 1)
            for mount in [own, url]:
                for method, name in [("resources/list", "notes:///one"), ("tools/list", "find")]:
                    listed = lambda m=mount, to=method, n=name: n in json.dumps(hub.ask(m, to, {}))
                    until(f"{name} at {mount}", listed, True)
            # Without the hub, what must not be there behind it is there.
            for title, mount, tool, uri in [
                ("without the hub", address, None, ""),
                ("own address", own, "", ""),
                ("among all", url, f"{LABEL}__", f"{LABEL}+"),
            ]:
                for name, driver in clients().items():
                    for era in ERAS:
                        settings = {"era": era, "forms": False, "url": mount, "token": hub.reader}
                        with Client(driver, settings, Path(home)) as client:
                            yield f"{title}, {name}, {era}", used(client, tool, uri)
            # Each client used each of them once, in each era and at both addresses.
            expected = {("reader", name): 2 * len(clients()) * len(ERAS) for name in OFFERED}
            until("the log", lambda: calls(hub), expected)
            yield "the log", []


def calls(hub: Behind) -> dict[tuple[str, str], int]:
    """How often who used what, by the audit log."""
    return Counter((entry["actor"], json.loads(entry["details"])["name"]) for entry in hub.audit("call"))


def used(client: Client, tool: str | None, uri: str) -> list[str]:
    """What is wrong with the tools and resources of an upstream, or of the server itself if `tool` is none."""
    is_direct, tool = tool is None, tool or ""
    problems = []

    def expect(what: str, found: object, expected: object) -> None:
        if found != expected:
            problems.append(f"{what}: {str(found)[:600]}, expected {expected}")

    def own(uris: list[str]) -> list[str]:
        """All but skills, which are listed as resources too."""
        return sorted(one for one in uris if not one.startswith("skill:"))

    named = ["erase", "find"] if is_direct else [f"{tool}find", *OWN_TOOLS]
    expect("tools", sorted(client.ask("tools")["result"]), named)
    listed = ["notes:///one", "private:///one"] if is_direct else ["notes:///one"]
    expect("resources", own(client.ask("resources")["result"]), [f"{uri}{one}" for one in listed])
    expect("templates", own(client.ask("templates")["result"]), [f"{uri}notes:///by-name/{{name}}"])
    link = client.call(f"{tool}find").get("content", [{}])[0].get("uri")
    expect("a link of a result", link, f"{uri}notes:///one")
    for one, text in [("notes:///one", "note one"), ("notes:///by-name/ana", "note ana")]:
        read = client.ask("read", uri=f"{uri}{one}").get("result", {}).get("contents", [{}])[0]
        expect(one, (read.get("text"), read.get("uri")), (text, f"{uri}{one}"))
    for told in [
        client.ask("read", uri=f"{uri}private:///one"),
        client.ask("call", tool=f"{tool}erase", arguments={}),
    ]:
        expect(f"what was not named: {told}", "result" in told, is_direct)
    return problems


TOOL_PEERS = [
    Peer("@modelcontextprotocol/server", lambda: script("tools.mjs")),
    Peer("fastmcp", lambda: python("fastmcp_tools.py")),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("skillwire", type=Path, help="the built program, with the feature `hub`")
    arguments = parser.parse_args()
    tally = Tally("upstreams")
    binary = arguments.skillwire.resolve()
    try:
        scenarios(binary, tally)
    except (Broken, OSError, ValueError, KeyError) as reason:
        tally.add("modes", 0, [f"{type(reason).__name__}: {reason}"])
    for peer in TOOL_PEERS:
        try:
            for title, problems in offers(binary, peer):
                tally.add(f"{peer.name}, tools and resources, {title}", int(not problems), problems)
        except (Broken, OSError, ValueError, KeyError) as reason:
            tally.add(f"{peer.name}, tools and resources", 0, [f"{type(reason).__name__}: {reason}"])
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
