"""Waiting for the parts of a stream, but not for ever: a caller that sends nothing holds no thread of the server."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from toolfs.detail import AbortedDetail
from toolfs.enums import AbortCause
from toolfs.error import FsErrorCode
from toolfs.provider.error import FsError

_Part = TypeVar("_Part")

_ROOM = 4


def patient(parts: Iterable[_Part], seconds: float) -> Iterator[_Part]:
    """The parts as they come; `FS_ABORTED` when one does not come within `seconds`.

    They are taken from the transport in a thread of its own, which nothing but the end of the call wakes: it ends then.
    """
    pump = _Pump(parts)
    threading.Thread(target=pump.run, name="toolfs-parts", daemon=True).start()
    try:
        while True:
            try:
                part = pump.taken.get(timeout=seconds)
            except queue.Empty:
                message = f"the call was given up: its caller sent nothing for {seconds:g} s"
                detail = AbortedDetail(AbortCause.CANCELLED)
                raise FsError(FsErrorCode.FS_ABORTED, message, detail=detail) from None
            if isinstance(part, _End):
                if part.error is not None:
                    raise part.error
                return
            yield part
    finally:
        pump.stop()


class _End:
    """The parts are at their end, or the transport failed."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error


class _Pump(Generic[_Part]):
    """Takes parts from the transport, a few ahead of whoever wants them."""

    def __init__(self, parts: Iterable[_Part]) -> None:
        self._parts = parts
        self._stopped = False
        self.taken: queue.Queue[_Part | _End] = queue.Queue(_ROOM)

    def run(self) -> None:
        """Takes all of them."""
        try:
            for part in self._parts:
                self.taken.put(part)
                if self._stopped:
                    return
            self.taken.put(_End(None))
        except Exception as error:
            self.taken.put(_End(error))

    def stop(self) -> None:
        """Nobody wants any more: makes room, so that the thread does not wait for it."""
        self._stopped = True
        while True:
            try:
                self.taken.get_nowait()
            except queue.Empty:
                return
