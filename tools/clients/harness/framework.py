"""Python frameworks: a small program of the client's folder is run in its own environment."""

from __future__ import annotations

import json

from .client import Client
from .world import Entry


class Framework(Client):
    """A framework whose program gets everything as one JSON argument."""

    def configure(self, entry: Entry, model: str) -> None:
        self.settings = {
            "model": model,
            "command": entry.command,
            "args": entry.args,
            "env": entry.env,
        }

    def command(self, words: str) -> list[str]:
        settings = json.dumps(self.settings | {"words": words})
        return [str(self.python), str(self.folder / "program.py"), settings]

    def variables(self, model: str) -> dict[str, str]:
        return {"OPENAI_API_KEY": "scripted", "OPENAI_BASE_URL": model}
