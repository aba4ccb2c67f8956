# Generated from toolfs/_async by tools/generate_sync.py. Never edited.
"""One channel per process, event loop and target, shared by every client that wants it.

A channel does not survive a fork, nor the end of its loop. Both are noticed when the next call looks for its channel:
a child process makes its own, and leaves alone what it inherited.
"""

from __future__ import annotations

import os
import threading
from collections import deque

from toolfs._backend import blocking as backend
from toolfs.retry import Budget, RetryPolicy
from toolfs.target import Target


class Connection:
    """A shared channel, with its stubs and what the calls over it share."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.pid = os.getpid()
        self.owner = backend.owner()
        self.users = 0
        self.closed = False
        self.stubs = backend.Stubs(target)
        self._budgets: dict[RetryPolicy, Budget] = {}

    def budget(self, policy: RetryPolicy) -> Budget:
        """The budget of all calls over this channel that follow the same policy."""
        budget = self._budgets.get(policy)
        # Of two threads that make one at once, one wins.
        return self._budgets.setdefault(policy, Budget(policy)) if budget is None else budget

    def is_usable(self) -> bool:
        """Whether this process, and this loop, may use it."""
        return self.pid == os.getpid() and self.owner is backend.owner()

    def is_gone(self) -> bool:
        """Whether nobody can use it any more: it is of a parent process, or of a loop that has ended."""
        return self.pid != os.getpid() or backend.is_gone(self.owner)


class Pool:
    """The channels of a process."""

    def __init__(self) -> None:
        self._begin()

    def acquire(self, target: Target) -> Connection:
        """A channel to the target: one that is there, or a new one. To be released once."""
        if self._pid != os.getpid():
            # What is inherited must not even be freed here: its threads are not.
            self._inherited = (self._inherited, self._connections, self._abandoned)
            self._begin()
        with self._lock:
            self._sweep()
            for connection in list(self._connections):
                if connection.is_gone():
                    self._connections.remove(connection)
            for connection in self._connections:
                if connection.target == target and connection.is_usable():
                    break
            else:
                connection = Connection(target)
                self._connections.append(connection)
            connection.users += 1
            return connection

    def release(self, connection: Connection) -> None:
        """Gives a channel back. The last one to do so closes it."""
        if connection.is_gone():
            return
        with self._lock:
            self._sweep()
            if not self._has_left(connection):
                return
        connection.stubs.close()

    def abandon(self, connection: Connection) -> None:
        """Gives a channel back from a finalizer, which may run anywhere, also within the other methods."""
        if connection.is_gone():
            return
        self._abandoned.append(connection)
        # Whoever has the lock, or the next one, sweeps.
        if self._lock.acquire(blocking=False):
            try:
                self._sweep()
            finally:
                self._lock.release()

    def _sweep(self) -> None:
        while self._abandoned:
            connection = self._abandoned.popleft()
            if not connection.is_gone() and self._has_left(connection):
                connection.stubs.abandon()

    def _has_left(self, connection: Connection) -> bool:
        """Takes a user away. Whether it was the last one."""
        connection.users -= 1
        if connection.users > 0:
            return False
        self._connections.remove(connection)
        connection.closed = True
        return True

    def __len__(self) -> int:
        return len(self._connections)

    _inherited: object = None

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._connections: list[Connection] = []
        self._abandoned: deque[Connection] = deque()


POOL = Pool()
"""The channels of this process."""
