"""One turn after the other for each target, for as long as somebody wants one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """Locks by key. A lock is there while somebody holds it or waits for it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[bytes, tuple[threading.Lock, int]] = {}

    @contextmanager
    def of(self, key: bytes) -> Iterator[None]:
        """Waits for the turn of a key, and has it until the block ends."""
        with self._guard:
            lock, wanted = self._locks.get(key, (threading.Lock(), 0))
            self._locks[key] = (lock, wanted + 1)
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, wanted = self._locks[key]
                if wanted == 1:
                    del self._locks[key]
                else:
                    self._locks[key] = (lock, wanted - 1)
