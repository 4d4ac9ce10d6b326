"""What a client's folder says about it, and how one session of it is run.

A folder below `clients/` has the packages (`package.json` with its lock, or `requirements.txt`) and a
`client.py` with a class `Driver(Client)` that writes the client's configuration as its documentation
says and names the command that runs it without a terminal.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .conversation import Conversation
from .model import Model
from .script import Script
from .world import Broken, Ended, Entry, World, run_client

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ROOT / "clients"
NODE = ROOT / "node"
NODE_MAJOR = 22


@dataclass
class Session:
    """One run of a client, with everything that the model was shown."""

    name: str
    script: Script
    shown: list[Conversation]
    ended: Ended
    refused: list[str]

    def report(self) -> str:
        """What to look at when a check did not hold."""
        reached = ", ".join(self.script.answers) or "none"
        head = f"{len(self.shown)} requests; steps answered: {reached}; exit code {self.ended.code}"
        return f"{head}\n{self.ended.tail}"


class Client:
    """An agent client; drivers fill in the rest."""

    # How it is called in documents, and the package whose version counts.
    title = ""
    package = ""
    # Checks that cannot hold in this client, each with the reason.
    limits: dict[str, str] = {}
    slash_commands = False
    # Whether it takes calls only with every argument, also optional ones.
    fills_arguments = False
    # Whether it can keep tools back until the model searches for them, and whether it does so now.
    searches_tools = False
    always_load = True
    # Where the client looks for its model, below the model's address.
    model_path = "/v1"

    def __init__(self, folder: Path, world: World, keep: Path) -> None:
        self.folder, self.world, self.keep = folder, world, keep
        self.limits = dict(type(self).limits)
        self.refused: set[str] = set()

    # What a driver says.

    def configure(self, entry: Entry, model: str) -> None:
        """Writes the configuration with one MCP server into the home."""
        raise NotImplementedError

    def command(self, words: str) -> list[str]:
        """The command that runs the client on the user's words, without a terminal."""
        raise NotImplementedError

    def variables(self, model: str) -> dict[str, str]:
        """Variables that point the client to the model and turn its telemetry off."""
        return {}

    def slash(self, handle: str, words: str) -> list[str]:
        """The command that uses the server's prompt of that name, with words after it."""
        raise NotImplementedError

    # What drivers share.

    @property
    def modules(self) -> Path:
        return self.folder / "node_modules"

    @property
    def python(self) -> Path:
        return self.folder / ".venv" / "bin" / "python"

    def node_script(self, path: str) -> list[str]:
        return [str(node()), str(self.modules / path)]

    def version(self) -> str:
        return installed_version(self.folder, self.package)

    def session(self, name: str, entry: Entry, played: Script, words: str) -> Session:
        return self.run(name, entry, played, lambda: self.command(words))

    def slash_session(self, name: str, entry: Entry, played: Script, handle: str, words: str) -> Session:
        return self.run(name, entry, played, lambda: self.slash(handle, words))

    def run(self, name: str, entry: Entry, played: Script, command) -> Session:
        played.fills = self.fills_arguments
        with Model(played.play) as model:
            address = model.address + self.model_path
            self.configure(entry, address)
            line = command()
            path = [Path(line[0]).parent, node().parent] if self.modules.exists() else []
            variables = self.world.environment(model.address, self.variables(address), path)
            logs = self.keep / name
            ended = run_client(line, variables, self.world.work, logs)
            requests = [json.dumps(body) for body in model.raw]
            (logs / "requests.jsonl").write_text("\n".join(requests), encoding="utf-8")
            self.refused |= model.refused
            return Session(name, played, list(model.shown), ended, sorted(model.refused))


def node() -> Path:
    """A Node.js that is new enough: the installed one, or the one that `install` brings."""
    candidates = sorted(NODE.glob("node_modules/node-linux-*/bin/node"))
    if found := shutil.which("node"):
        candidates.append(Path(found))
    for candidate in candidates:
        told = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False)
        if (major := re.match(r"v(\d+)\.", told.stdout)) and int(major[1]) >= NODE_MAJOR:
            return candidate
    raise Broken(f"no Node.js {NODE_MAJOR} or newer; run `tools/clients/install`")


def installed_version(folder: Path, package: str) -> str:
    """The version of a client's package, from its lock."""
    lock = folder / "package-lock.json"
    if lock.exists():
        packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
        return packages[f"node_modules/{package}"]["version"]
    text = (folder / "requirements.txt").read_text(encoding="utf-8")
    found = re.search(rf"^{re.escape(package)}(?:\[[^]]*\])?==([^\s;\\]+)", text, re.MULTILINE)
    return found[1] if found else "unknown"


def names() -> list[str]:
    """Every client, by the name of its folder."""
    return sorted(path.parent.name for path in FOLDERS.glob("*/client.py"))


def is_installed(name: str) -> bool:
    folder = FOLDERS / name
    return (folder / "node_modules").is_dir() or (folder / ".venv").is_dir()


def load_driver(name: str) -> type[Client]:
    """The class `Driver` of a client's folder."""
    path = FOLDERS / name / "client.py"
    spec = importlib.util.spec_from_file_location(f"client_{name.replace('-', '_')}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Driver
