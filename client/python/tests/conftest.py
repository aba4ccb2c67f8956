"""What many tests need: a server of the real binary, and a port where nothing listens."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from corpus.server import Server


@dataclass(frozen=True)
class Live:
    """A running server: where it listens, and the directory that it serves as `/workspace`."""

    address: str
    root: Path


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """The real binary over a fresh directory."""
    root = tmp_path / "root"
    root.mkdir()
    server = Server(tmp_path, root, flags=[], persistent=False)
    server.start()
    try:
        yield Live(server.address, root)
    finally:
        ended = server.stop()
    assert not ended, ended


@pytest.fixture
def unused_port() -> Iterator[int]:
    """A port of the loopback that stays bound while nothing listens on it."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]
