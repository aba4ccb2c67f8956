"""The pure decisions about retries, over a scripted clock."""

from __future__ import annotations

from collections.abc import Iterable

import grpc
import pytest
from scripted_server import fs_error

from toolfs.error import CallError, ConnectError, ToolError, ToolfsError
from toolfs.retry import Budget, Repeat, RetryPolicy, Tries
from toolfs.v1 import types_pb2

UNAVAILABLE = CallError(grpc.StatusCode.UNAVAILABLE, "gone")
REFUSED = ToolError(fs_error())
UNREACHED = ConnectError("127.0.0.1:1", "refused")
LONGEST = RetryPolicy(random=lambda: 1.0)
"""Without jitter: each wait is its longest."""


def waits(
    failures: Iterable[ToolfsError],
    *,
    policy: RetryPolicy = LONGEST,
    budget: Budget | None = None,
    repeat: Repeat = Repeat.HARMLESS,
    deadline: float = 60.0,
    connect_by: float = 5.0,
    each: float = 0.0,
) -> list[float | None]:
    """The waits after failures that take `each` seconds, by a clock that the waits move on."""
    tries = Tries(policy, budget or Budget(policy), repeat, deadline, connect_by)
    now, found = 0.0, list[float | None]()
    for failure in failures:
        now += each
        wait = tries.wait_after(failure, now)
        found.append(wait)
        now += wait or 0.0
    return found


def test_waits_double_and_end_after_four_attempts() -> None:
    assert waits([UNAVAILABLE] * 4) == [0.05, 0.1, 0.2, None]


def test_waits_stop_growing_at_the_cap() -> None:
    policy = RetryPolicy(attempts=9, random=lambda: 1.0)
    assert waits([UNAVAILABLE] * 8, policy=policy)[-3:] == [1.6, 2.0, 2.0]


def test_a_wait_beyond_what_a_float_holds_is_the_cap() -> None:
    assert RetryPolicy(random=lambda: 1.0).wait(100_000) == 2.0


@pytest.mark.parametrize(("drawn", "wait"), [(0.0, 0.0), (0.5, 0.025), (1.0, 0.05)])
def test_jitter_is_drawn_from_nothing_to_the_whole_wait(drawn: float, wait: float) -> None:
    assert waits([UNAVAILABLE], policy=RetryPolicy(random=lambda: drawn)) == [wait]


def test_one_attempt_means_no_retry() -> None:
    assert waits([UNAVAILABLE], policy=RetryPolicy(attempts=1)) == [None]


def test_the_server_may_ask_for_a_longer_wait_but_not_for_a_shorter_one() -> None:
    longer = CallError(grpc.StatusCode.UNAVAILABLE, "later", "OVERLOADED", retry_delay=3.0)
    shorter = CallError(grpc.StatusCode.UNAVAILABLE, "soon", "OVERLOADED", retry_delay=0.001)
    assert waits([longer, shorter]) == [3.0, 0.1]


def test_no_wait_reaches_the_deadline() -> None:
    assert waits([UNAVAILABLE] * 3, deadline=0.15) == [0.05, None, None]
    asked = CallError(grpc.StatusCode.UNAVAILABLE, "later", retry_delay=60.0)
    assert waits([asked], deadline=60.0) == [None]


def test_time_that_attempts_take_counts_against_the_deadline() -> None:
    assert waits([UNAVAILABLE] * 2, each=0.5, deadline=0.6) == [0.05, None]


def test_connecting_is_given_up_after_its_own_time() -> None:
    assert waits([UNREACHED] * 2, each=3.0, connect_by=5.0) == [0.05, None]


@pytest.mark.parametrize(
    ("failure", "repeat", "again"),
    [
        (UNAVAILABLE, Repeat.HARMLESS, True),
        (UNAVAILABLE, Repeat.REMEMBERED, True),
        (UNAVAILABLE, Repeat.UNSENT, False),
        (UNREACHED, Repeat.HARMLESS, True),
        (UNREACHED, Repeat.REMEMBERED, True),
        (UNREACHED, Repeat.UNSENT, True),
        (REFUSED, Repeat.HARMLESS, True),
        (REFUSED, Repeat.REMEMBERED, True),
        (REFUSED, Repeat.UNSENT, False),
        (ToolError(fs_error(retryable=False)), Repeat.HARMLESS, False),
        (ToolError(fs_error(published=types_pb2.PUBLISHED_MAYBE)), Repeat.HARMLESS, False),
        (ToolError(fs_error(published=types_pb2.PUBLISHED_YES)), Repeat.HARMLESS, False),
        (CallError(grpc.StatusCode.DEADLINE_EXCEEDED, ""), Repeat.HARMLESS, False),
        (CallError(grpc.StatusCode.RESOURCE_EXHAUSTED, "", "QUOTA_EXCEEDED"), Repeat.HARMLESS, False),
        (CallError(grpc.StatusCode.INTERNAL, ""), Repeat.HARMLESS, False),
    ],
)
def test_only_what_is_safe_and_may_help_is_sent_again(failure: ToolfsError, repeat: Repeat, again: bool) -> None:
    assert (waits([failure], repeat=repeat) != [None]) is again


def test_a_spent_budget_ends_retries_until_successes_have_earned_one() -> None:
    budget = Budget(LONGEST)
    for _ in range(10):
        assert waits([UNAVAILABLE], budget=budget) == [0.05]
    assert waits([UNAVAILABLE], budget=budget) == [None]
    for _ in range(9):
        budget.succeeded()
    assert waits([UNAVAILABLE], budget=budget) == [None]
    budget.succeeded()
    budget.succeeded()
    assert waits([UNAVAILABLE], budget=budget) == [0.05]


def test_successes_never_fill_the_budget_over_its_size() -> None:
    budget = Budget(RetryPolicy(budget=2.0))
    for _ in range(100):
        budget.succeeded()
    assert budget.tokens == 2.0


def test_a_failure_that_is_not_retried_costs_no_budget() -> None:
    budget = Budget(LONGEST)
    waits([UNAVAILABLE], budget=budget, repeat=Repeat.UNSENT)
    waits([UNAVAILABLE], budget=budget, deadline=0.01)
    assert budget.tokens == 10.0
