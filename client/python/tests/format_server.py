"""What a real server tells of its tools, and what the binary prints of them."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
from corpus import server as corpus_server

import toolfs
from toolfs.v1 import tool_pb2, tool_pb2_grpc

# Servers take turns in a directory below their home, so it cannot be one that is not there. It goes with the process.
_NOBODYS_HOME = tempfile.TemporaryDirectory(prefix="toolfs-nobodys-home-")


def binary() -> str:
    """The path of the binary under test."""
    return str(corpus_server.binary())


def environment() -> dict[str, str]:
    """The environment of the binary, where it needs neither configuration nor state."""
    return corpus_server.environment(Path(_NOBODYS_HOME.name))


def example_environment() -> dict[str, str]:
    """The environment of a program that starts a server of its own, with the package that is under test.

    It has no keys: a program that reached for a real service would fail.
    """
    kept = {name: value for name, value in environment().items() if not name.endswith("_API_KEY")}
    path = os.pathsep.join(filter(None, [str(Path(toolfs.__file__).parent.parent), kept.get("PYTHONPATH", "")]))
    return {**kept, "TOOLFS_BIN": binary(), "PYTHONPATH": path}


@contextmanager
def server(directory: Path) -> Iterator[str]:
    """Serves an empty directory; gives the address."""
    root = directory / "root"
    root.mkdir()
    running = corpus_server.Server(directory, root, flags=[], persistent=False)
    running.start()
    try:
        yield running.address
    finally:
        ended = running.stop()
    assert not ended, ended


def definitions(address: str) -> list[tool_pb2.ToolDefinition]:
    """The server's tools."""
    with grpc.insecure_channel(address, options=[("grpc.default_authority", "localhost")]) as channel:
        return list(tool_pb2_grpc.ToolServiceStub(channel).ListTools(tool_pb2.ListToolsRequest(), timeout=30).tools)


def printed(address: str, format: str, strict: bool) -> str:
    """What the binary prints of the server's tools."""
    command = [binary(), "tools", "--server", address, "--format", format]
    if strict:
        command.append("--strict")
    return subprocess.run(command, env=environment(), check=True, capture_output=True, text=True).stdout
