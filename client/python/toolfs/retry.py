"""When a call is sent again, as pure decisions: no clock and no waiting of its own.

A call is sent again where that is safe and likely to help: the server was not there or told to come back (the status
`UNAVAILABLE`), or a tool refused for now (`retryable`, with nothing published). All tries of a call together stay
within its deadline, and a budget keeps many callers from beating a server that is down.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import grpc

from toolfs.effect import Effect
from toolfs.enums import Published
from toolfs.error import CallError, ConnectError, ToolError, ToolfsError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how fast calls are sent again. `RetryPolicy(attempts=1)` never does."""

    attempts: int = 4
    """How often a call is sent at most, the first time included."""
    base: float = 0.05
    """The longest wait before the second attempt, in seconds. Each wait is drawn evenly from 0 to its longest."""
    multiplier: float = 2.0
    """By what the longest wait grows from attempt to attempt."""
    cap: float = 2.0
    """What the longest wait grows to at most, in seconds. A server that asks for more gets it."""
    budget: float = 10.0
    """How many retries may follow on each other without successes between, over all calls to one server."""
    success_credit: float = 0.1
    """How much of a retry each success earns."""
    random: Callable[[], float] = field(default=random.random, compare=False, repr=False)
    """Draws from 0 (included) to 1 (excluded)."""

    def wait(self, retry: int) -> float:
        """How long to wait before this retry, counted from 0."""
        # A power that no float can hold is beyond any cap.
        longest = self.cap if retry > 64 else min(self.cap, self.base * self.multiplier**retry)
        return self.random() * longest


class Budget:
    """Tokens that retries use up and successes earn. Shared by the calls to one server, from any thread."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._capacity = policy.budget
        self._credit = policy.success_credit
        self._tokens = policy.budget
        self._lock = threading.Lock()

    @property
    def tokens(self) -> float:
        """How many are left."""
        return self._tokens

    def succeeded(self) -> None:
        """Adds what a success earns."""
        if self._tokens < self._capacity:
            with self._lock:
                self._tokens = min(self._capacity, self._tokens + self._credit)

    def take(self) -> bool:
        """Takes one for a retry, if one is left."""
        with self._lock:
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True


class Repeat(Enum):
    """What a repetition of a call would do, and so when it may be sent again."""

    HARMLESS = "harmless"
    """It changes nothing more: reads, dry runs, and what is the same done twice."""
    REMEMBERED = "remembered"
    """A mutation within a session: the server answers its `request_id` from memory, if it announces that it does."""
    UNSENT = "unsent"
    """It would have a second effect: only a call that was never sent may be sent again."""


class Tries:
    """The tries of one call. Made when the first has failed, since most calls have no other."""

    def __init__(self, policy: RetryPolicy, budget: Budget, repeat: Repeat, deadline: float, connect_by: float) -> None:
        self._policy = policy
        self._budget = budget
        self._repeat = repeat
        self._deadline = deadline
        self._connect_by = connect_by
        self._count = 0
        self.effect = Effect(changes=repeat is not Repeat.HARMLESS)
        """What is known of the effect of those that failed."""

    def wait_after(self, failure: ToolfsError, now: float) -> float | None:
        """Counts a failed try. Returns how many seconds to wait before the next one, or `None` if there is none.

        Times are those of the caller's clock, in seconds. A token of the budget is taken only when there is a next try.
        """
        self._count += 1
        self.effect.add(failure)
        if self._count >= self._policy.attempts or not self._may_follow(failure, now):
            return None
        wait = self._policy.wait(self._count - 1)
        if isinstance(failure, CallError) and failure.retry_delay is not None:
            wait = max(wait, failure.retry_delay)
        if now + wait >= self._deadline or not self._budget.take():
            return None
        return wait

    def _may_follow(self, failure: ToolfsError, now: float) -> bool:
        if isinstance(failure, ConnectError):
            return now < self._connect_by
        if self._repeat is Repeat.UNSENT:
            return False
        if isinstance(failure, CallError):
            return failure.status is grpc.StatusCode.UNAVAILABLE
        return isinstance(failure, ToolError) and failure.retryable and failure.published is Published.NO
