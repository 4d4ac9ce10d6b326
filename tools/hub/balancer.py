"""A small balancer for TCP connections, which the fault run kills like everything else.

    python3 tools/hub/balancer.py PORT REPLICA-PORT...

It asks each replica for `/readyz` and gives a new connection to the next one that is ready. Without any it
tries all of them: a replica that lost its database serves for a while.
"""

from __future__ import annotations

import asyncio
import itertools
import sys

ASK_EVERY = 0.2
PATIENCE = 1.0

ready: dict[int, bool] = {}


async def watch(port: int) -> None:
    while True:
        try:
            ready[port] = await asyncio.wait_for(ask(port), PATIENCE)
        except (OSError, asyncio.TimeoutError):
            ready[port] = False
        await asyncio.sleep(ASK_EVERY)


async def ask(port: int) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        return (await reader.readline()).startswith(b"HTTP/1.1 200")
    finally:
        writer.close()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, replica: int | None) -> None:
    """Copies one direction; a replica that hangs up gets no connection until it was asked again."""
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        if replica is not None:
            ready[replica] = False
        writer.close()


async def main() -> None:
    listen, *replicas = map(int, sys.argv[1:])
    turn = itertools.count()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = next(turn)
        order = [replicas[(first + step) % len(replicas)] for step in range(len(replicas))]
        order.sort(key=lambda port: not ready.get(port, False))
        for port in order:
            try:
                replica = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), PATIENCE)
            except (OSError, asyncio.TimeoutError):
                ready[port] = False
                continue
            await asyncio.gather(pump(reader, replica[1], None), pump(replica[0], writer, port))
            return
        writer.close()

    watching = [asyncio.create_task(watch(port)) for port in replicas]
    server = await asyncio.start_server(forward, "127.0.0.1", listen)
    async with server:
        await asyncio.gather(server.serve_forever(), *watching)


if __name__ == "__main__":
    asyncio.run(main())
