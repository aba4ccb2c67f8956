"""A proxy of bytes before a server: it loses answers, cuts connections, and stops to listen, as a test tells it to."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable

_TICK_S = 0.01
"""How often the condition of a loss is looked at."""
_CHUNK = 65536

# HTTP/2: the size of a frame's header, and types of frames.
_HEADER = 9
_HEADERS = 1
_RST_STREAM = 3


class CuttingProxy:
    """Listens on the loopback and passes everything on to a Unix socket, until it is told to lose an answer."""

    def __init__(self, upstream: str) -> None:
        """`upstream` is `unix:` and a path."""
        self._upstream = upstream.removeprefix("unix:")
        self._lost_when: Callable[[], bool] | None = None
        self._then: Callable[[], None] = self.go_on
        self._reset: int | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def lose(self, when: Callable[[], bool], then: Callable[[], None], reset: int | None = None) -> None:
        """From now on nothing that the server says arrives. As soon as `when` holds, `then` is done and the connection
        is cut, after the latest stream is reset with a code of HTTP/2, if one is given."""
        self._then = then
        self._reset = reset
        self._lost_when = when

    def go_on(self) -> None:
        """Passes everything on again."""
        self._lost_when = None

    def stop_listening(self) -> None:
        """Refuses every further connection."""
        # A thread that waits in `accept` is woken by this, and not by `close`.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server, contextlib.suppress(OSError):
            server.connect(self._upstream)
            streams = _Streams()
            while True:
                lost_when = self._lost_when
                readable, _, _ = select.select([client, server], [], [], _TICK_S)
                for source in readable:
                    data = source.recv(_CHUNK)
                    if not data:
                        return
                    if source is client:
                        streams.add(data)
                        server.sendall(data)
                    elif lost_when is None:
                        client.sendall(data)
                if lost_when is not None and lost_when():
                    self._then()
                    if self._reset is not None:
                        client.sendall(streams.reset(self._reset))
                    return


class _Streams:
    """Follows the frames of a client of HTTP/2, to know which stream it opened last."""

    def __init__(self) -> None:
        self._latest = 0
        self._rest = bytearray()
        self._skip = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

    def add(self, data: bytes) -> None:
        self._rest += data
        while len(self._rest) >= self._skip + _HEADER:
            del self._rest[: self._skip]
            if self._rest[3] == _HEADERS:
                self._latest = int.from_bytes(self._rest[5:_HEADER], "big")
            self._skip = _HEADER + int.from_bytes(self._rest[:3], "big")

    def reset(self, code: int) -> bytes:
        """The frame that resets the latest stream."""
        return b"\0\0\4" + bytes((_RST_STREAM, 0)) + self._latest.to_bytes(4, "big") + code.to_bytes(4, "big")
