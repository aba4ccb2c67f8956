"""Serving a provider or a gate with grpcio, on a Unix socket or on TCP.

Whoever reaches the address writes past the policy gate (a provider), or could forge an observation (a gate): keep the
socket in a directory of your own, and TCP on the loopback device.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import grpc
import grpc.aio

from toolfs.error import ArgumentError
from toolfs.provider.provider import Call, Provider
from toolfs.provider.servicer import FileSystemServicer
from toolfs.target import as_uri, check_socket_path, check_text, host_of, is_loopback
from toolfs.v1 import filesystem_pb2_grpc

MAX_WORKERS = 16
"""How many calls are worked on at once, when nothing else is said."""

PATIENCE_SECONDS = 60.0
"""How long a write may keep a thread waiting for its next part, when nothing else is said."""

GRACE_SECONDS = 10.0
"""How long calls in progress may go on when a server is stopped."""

MAX_MESSAGE_BYTES = 64 << 20
"""The largest message of a gate, in both directions."""

# The mode of a socket comes from the umask, which is one for the whole process.
_UMASK = threading.Lock()

_SCHEME = "grpc://"
"""What the server's settings put before a TCP address."""


class Serving:
    """A server that answers calls until it is stopped. As a context manager it stops at the end of the block."""

    def __init__(self, server: grpc.Server, address: str) -> None:
        self._server = server
        self.address = address
        """Where it is reached, as `toolfs serve --provider` and `--policy` take it: `unix:PATH`, or `grpc://HOST:PORT`
        with the port that was chosen for port 0."""

    def stop(self, grace: float = GRACE_SECONDS) -> None:
        """Takes no more calls, and waits up to `grace` seconds for those in progress."""
        self._server.stop(grace).wait()

    def wait(self) -> None:
        """Waits until it is stopped by another thread."""
        self._server.wait_for_termination()

    def __enter__(self) -> Serving:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def serve(
    provider: Provider,
    address: str,
    *,
    max_workers: int = MAX_WORKERS,
    patience: float = PATIENCE_SECONDS,
    allow_remote: bool = False,
) -> Serving:
    """Serves a provider at `unix:PATH` or `[grpc://]HOST:PORT` (port 0 chooses one) in threads of its own.

    A write whose next part does not come within `patience` seconds is given up, so that it does not hold one of the
    `max_workers` threads. A socket is made for this user alone: for that moment the umask of the whole process is
    stricter. An address beyond the loopback device needs `allow_remote`.

    Raises `ArgumentError` for an address that is none, `OSError` for one that cannot be bound.
    """
    return serve_with(_adder(provider, patience), address, _message_bytes(provider), max_workers, allow_remote)


@asynccontextmanager
async def serve_async(
    provider: Provider,
    address: str,
    *,
    max_workers: int = MAX_WORKERS,
    patience: float = PATIENCE_SECONDS,
    allow_remote: bool = False,
) -> AsyncIterator[str]:
    """The same within an event loop: gives the address, and stops at the end of the block.

    The provider's methods run in threads, so that they may block without holding up the loop.
    """
    async with serve_async_with(
        _adder(provider, patience), address, _message_bytes(provider), max_workers, allow_remote
    ) as bound:
        yield bound


Add = Callable[[Any], None]
"""Adds a service to a server."""


def serve_with(add: Add, address: str, message_bytes: int, max_workers: int, allow_remote: bool) -> Serving:
    """Serves whatever `add` adds."""
    _check(address, allow_remote)
    server = grpc.server(ThreadPoolExecutor(max_workers, "toolfs"), options=_options(message_bytes))
    add(server)
    bound = _bind(server, address)
    server.start()
    return Serving(server, bound)


@asynccontextmanager
async def serve_async_with(
    add: Add, address: str, message_bytes: int, max_workers: int, allow_remote: bool
) -> AsyncIterator[str]:
    """The same within an event loop."""
    _check(address, allow_remote)
    pool = ThreadPoolExecutor(max_workers, "toolfs")
    server = grpc.aio.server(migration_thread_pool=pool, options=_options(message_bytes))
    add(server)
    bound = _bind(server, address)
    await server.start()
    try:
        yield bound
    finally:
        await server.stop(GRACE_SECONDS)
        await asyncio.to_thread(pool.shutdown)


def _adder(provider: Provider, patience: float) -> Add:
    servicer = FileSystemServicer(provider, patience)
    return lambda server: filesystem_pb2_grpc.add_FileSystemServiceServicer_to_server(servicer, server)


def _message_bytes(provider: Provider) -> int:
    return provider.capabilities(Call()).limits.max_message_bytes


def _options(message_bytes: int) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", message_bytes),
        ("grpc.max_send_message_length", message_bytes),
        # Two servers on one port would share its calls.
        ("grpc.so_reuseport", 0),
    ]


def _check(address: str, allow_remote: bool) -> None:
    check_text(address)
    if address.startswith("unix:"):
        if not address.removeprefix("unix:"):
            raise ArgumentError("address", "has no path after `unix:`")
        check_socket_path(address)
        return
    host = host_of(address.removeprefix(_SCHEME))
    if host is None:
        raise ArgumentError("address", f"must be `unix:PATH` or `HOST:PORT`, not `{address}`")
    if not allow_remote and not is_loopback(host):
        raise ArgumentError("address", f"leaves this host (`{host}`): set `allow_remote` where that is meant")


def _bind(server: Any, address: str) -> str:
    """Binds, and gives the address with the port that was chosen."""
    try:
        if address.startswith("unix:"):
            with _UMASK:
                before = os.umask(0o177)
                try:
                    port = server.add_insecure_port(as_uri(address))
                finally:
                    os.umask(before)
        else:
            port = server.add_insecure_port(address.removeprefix(_SCHEME))
    except RuntimeError as error:
        raise OSError(f"cannot listen at `{address}`: {error}") from None
    if not port:
        raise OSError(f"cannot listen at `{address}`")
    if address.startswith("unix:"):
        return address
    return f"{_SCHEME}{address.removeprefix(_SCHEME).rpartition(':')[0]}:{port}"
