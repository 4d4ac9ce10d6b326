"""A model that plays a script over HTTP on the loopback, and keeps what clients show it.

It speaks Chat Completions, Responses, Messages and `generateContent`. It is also the proxy that clients
are given for every other address: such a request is refused and its address kept.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from .conversation import Conversation, Reply
from .wire import chat, generate, messages, responses

Player = Callable[[Conversation], Reply]


class Model:
    """The model, for the length of a `with` block."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.shown: list[Conversation] = []
        self.raw: list[dict[str, Any]] = []
        self.refused: set[str] = set()
        self.unknown: set[str] = set()
        self._lock = threading.Lock()
        model = self

        class Handler(ModelHandler):
            owner = model

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def address(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host}:{port}"

    def __enter__(self) -> Model:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[str, bytes | dict[str, Any]] | None:
        """The content type and body for a request, or nothing for a path that no model has."""
        if path.endswith("/count_tokens"):
            return "application/json", {"input_tokens": 10}
        if path.endswith(":countTokens"):
            return "application/json", {"totalTokens": 10}
        if path.endswith("/chat/completions"):
            return chat.write(self.play(chat.read(body), body), body)
        if path.endswith("/responses"):
            return responses.write(self.play(responses.read(body), body), body)
        if path.endswith("/messages"):
            return messages.write(self.play(messages.read(body), body), body)
        if path.endswith(("enerateContent",)):
            streamed = path.endswith(":streamGenerateContent")
            return generate.write(self.play(generate.read(body), body), body, streamed)
        return None

    def play(self, seen: Conversation, body: dict[str, Any]) -> Reply:
        with self._lock:
            self.shown.append(seen)
            self.raw.append(body)
            return self.player(seen)


class ModelHandler(BaseHTTPRequestHandler):
    owner: Model
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Writes nothing: the requests are kept."""

    def do_CONNECT(self) -> None:
        self.refuse(self.path)

    def refuse(self, address: str) -> None:
        self.owner.refused.add(address)
        self.close_connection = True
        self.send(403, "text/plain", b"This run has no network but the loopback.\n")

    def outside(self) -> bool:
        """Tells whether this is a request to a proxy for another host."""
        parts = urlsplit(self.path)
        return bool(parts.netloc) and f"http://{parts.netloc}" != self.owner.address

    def do_GET(self) -> None:
        if self.outside():
            self.refuse(urlsplit(self.path).netloc)
            return
        path = urlsplit(self.path).path
        if path.endswith("/models"):
            model = {"id": "scripted", "object": "model", "created": 1, "owned_by": "scripted"}
            self.send_json(200, {"object": "list", "data": [model]})
        else:
            self.owner.unknown.add(f"GET {path}")
            self.send_json(404, {"error": {"message": "The scripted model has no such path."}})

    def do_POST(self) -> None:
        body = self.body()
        if self.outside():
            self.refuse(urlsplit(self.path).netloc)
            return
        path = urlsplit(self.path).path
        try:
            answered = self.owner.answer(path, json.loads(body or b"{}"))
        except ValueError:
            answered = None
        if answered is None:
            self.owner.unknown.add(f"POST {path}")
            self.send_json(404, {"error": {"message": "The scripted model has no such path."}})
            return
        kind, content = answered
        if isinstance(content, bytes):
            self.send(200, kind, content)
        else:
            self.send_json(200, content)

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        return body

    def send_json(self, status: int, content: Any) -> None:
        self.send(status, "application/json", json.dumps(content).encode())

    def send(self, status: int, kind: str, content: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
