"""A proxy on the loopback that adds a bearer token, for tools that cannot send one."""

from __future__ import annotations

import re
import socket
import threading
from urllib.parse import urlsplit

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)


class TokenProxy:
    """Passes requests on with a token, for the length of a `with` block, which yields the address."""

    def __init__(self, url: str, token: str) -> None:
        target = urlsplit(url)
        self.target = (target.hostname, target.port)
        self.path = target.path
        self.header = f"\r\nAuthorization: Bearer {token}".encode()
        self.listener = socket.create_server(("127.0.0.1", 0))

    def __enter__(self) -> str:
        threading.Thread(target=self._accept, daemon=True).start()
        host, port = self.listener.getsockname()
        return f"http://{host}:{port}{self.path}"

    def __exit__(self, *_: object) -> None:
        self.listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(self.target)
            threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
            threading.Thread(target=copy, args=(server, client), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        """Copies requests, each with the token after its first line."""
        received = b""
        try:
            while True:
                while b"\r\n\r\n" not in received:
                    more = client.recv(65536)
                    if not more:
                        return
                    received += more
                head, _, received = received.partition(b"\r\n\r\n")
                line, _, rest = head.partition(b"\r\n")
                server.sendall(line + self.header + b"\r\n" + rest + b"\r\n\r\n")
                if CHUNKED.search(head):
                    raise OSError("chunked requests are not passed on")
                length = LENGTH.search(head)
                left = int(length[1]) if length else 0
                while left:
                    received = received or client.recv(65536)
                    if not received:
                        return
                    server.sendall(received[:left])
                    left, received = left - len(received[:left]), received[left:]
        except OSError:
            pass
        finally:
            close(client, server)


def copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while more := source.recv(65536):
            target.sendall(more)
    except OSError:
        pass
    finally:
        close(source, target)


def close(*sockets: socket.socket) -> None:
    for one in sockets:
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
