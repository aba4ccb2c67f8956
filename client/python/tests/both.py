"""Both clients behind one face, so that a test is written once: methods are awaited, whichever it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from toolfs import AsyncToolfs, Session, Toolfs

MODES = ["sync", "asyncio"]


class Awaited:
    """A client that blocks, or a session of it: each method runs in a thread."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.inner, name)
        if not callable(attribute):
            return attribute
        return lambda *args, **options: _in_thread(lambda: attribute(*args, **options))

    def detach(self) -> None:
        """Sends nothing, in either client."""
        self.inner.detach()

    async def __aenter__(self) -> Awaited:
        return self

    async def __aexit__(self, *ended: Any) -> None:
        await _in_thread(lambda: self.inner.__exit__(*ended))


async def _in_thread(work: Callable[[], Any]) -> Any:
    result = await asyncio.to_thread(work)
    return Awaited(result) if isinstance(result, (Session, Toolfs)) else result


def connect(mode: str, address: str, **options: Any) -> Any:
    """A client of the mode: `sync` or `asyncio`."""
    if mode == "sync":
        return Awaited(Toolfs.connect(address, **options))
    return AsyncToolfs.connect(address, **options)


async def local(mode: str, root: Any, **options: Any) -> Any:
    """A client of the mode with a server of its own."""
    if mode == "sync":
        return await _in_thread(lambda: Toolfs.local(root, **options))
    return await AsyncToolfs.local(root, **options)


async def listed(iterator: Any) -> list[Any]:
    """Everything that a generator of either client gives."""
    iterator = await iterator if asyncio.iscoroutine(iterator) else iterator
    if hasattr(iterator, "__aiter__"):
        return [item async for item in iterator]
    return await asyncio.to_thread(lambda: list(iterator))
