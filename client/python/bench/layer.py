"""What the layer costs: a small read through it, against the bare generated stub, by taking turns call by call.

Starts a server of its own (`--binary`, else `TOOLFS_BIN`) and prints one line of JSON: per client the p50 of the stub
and of the layer in microseconds, and their ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import statistics
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from toolfs import AsyncToolfs, Toolfs
from toolfs.v1 import session_pb2, session_pb2_grpc, tool_pb2, tool_pb2_grpc

OPTIONS = [
    ("grpc.default_authority", "localhost"),
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.use_local_subchannel_pool", 1),
]
DEADLINE = 60.0
LINES = 20


def request(session_id: str) -> tool_pb2.ExecuteRequest:
    """What the layer sends, made as somebody with a stub would make it."""
    read = tool_pb2.ReadCall(file_path="notes.txt")
    return tool_pb2.ExecuteRequest(session_id=session_id, request_id=str(uuid.uuid4()), read=read)


def used(response: tool_pb2.ExecuteResponse) -> int:
    """What somebody with a stub looks at: whether it failed, the text, and a number."""
    assert not response.is_error
    return len("".join(block.text for block in response.content)) + response.read.total_lines


def blocking(address: str, rounds: int, calls: int) -> dict[str, float]:
    """Microseconds a call of the client that blocks."""
    stub_times: list[float] = []
    layer_times: list[float] = []
    with grpc.insecure_channel(address, options=OPTIONS) as channel, Toolfs.connect(address) as client:
        stub = tool_pb2_grpc.ToolServiceStub(channel)
        sessions = session_pb2_grpc.SessionServiceStub(channel)
        session_id = sessions.OpenSession(session_pb2.OpenSessionRequest(), timeout=DEADLINE).session_id
        with client.open_session() as session:
            for turn in range(rounds + 1):
                for _ in range(calls):
                    began = time.perf_counter()
                    used(stub.Execute(request(session_id), timeout=DEADLINE))
                    between = time.perf_counter()
                    result = session.read("notes.txt")
                    assert len(result.text) + result.outcome.total_lines > 0
                    ended = time.perf_counter()
                    # The first round warms up.
                    if turn:
                        stub_times.append(between - began)
                        layer_times.append(ended - between)
    return figures(stub_times, layer_times)


async def with_asyncio(address: str, rounds: int, calls: int) -> dict[str, float]:
    """Microseconds a call of the asyncio client."""
    stub_times: list[float] = []
    layer_times: list[float] = []
    async with grpc.aio.insecure_channel(address, options=OPTIONS) as channel, AsyncToolfs.connect(address) as client:
        stub: Any = tool_pb2_grpc.ToolServiceStub(channel)
        sessions: Any = session_pb2_grpc.SessionServiceStub(channel)
        opened = await sessions.OpenSession(session_pb2.OpenSessionRequest(), timeout=DEADLINE)
        async with client.open_session() as session:
            for turn in range(rounds + 1):
                for _ in range(calls):
                    began = time.perf_counter()
                    used(await stub.Execute(request(opened.session_id), timeout=DEADLINE))
                    between = time.perf_counter()
                    result = await session.read("notes.txt")
                    assert len(result.text) + result.outcome.total_lines > 0
                    ended = time.perf_counter()
                    if turn:
                        stub_times.append(between - began)
                        layer_times.append(ended - between)
    return figures(stub_times, layer_times)


def figures(stub: list[float], layer: list[float]) -> dict[str, float]:
    """The medians in microseconds, and how much longer the layer takes."""
    stub_p50, layer_p50 = statistics.median(stub) * 1e6, statistics.median(layer) * 1e6
    return {
        "calls": len(stub),
        "stub_p50_us": round(stub_p50, 1),
        "layer_p50_us": round(layer_p50, 1),
        "ratio": round(layer_p50 / stub_p50, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--binary", help="the `toolfs` command; else what TOOLFS_BIN names, else the one on PATH")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, beside one that warms up")
    parser.add_argument("--calls", type=int, default=400, help="calls of each kind in a round")
    options = parser.parse_args()
    # What a call costs is measured, not when the collector happens to run.
    gc.disable()
    with tempfile.TemporaryDirectory() as root:
        (Path(root) / "notes.txt").write_text("".join(f"line {number}\n" for number in range(LINES)))
        with Toolfs.local(root=root, binary=options.binary or os.environ.get("TOOLFS_BIN")) as server:
            result = {
                "bench": "python-layer",
                "sync": blocking(server.address, options.rounds, options.calls),
                "asyncio": asyncio.run(with_asyncio(server.address, options.rounds, options.calls)),
            }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
