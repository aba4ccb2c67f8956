"""What waits its turn, and what is not waited for any longer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolfs.provider import FsError, FsErrorCode
from toolfs.provider.lock import Turns
from toolfs.provider.patience import patient


def _threads() -> int:
    return sum(thread.name == "toolfs-parts" for thread in threading.enumerate())


def _join() -> None:
    for thread in threading.enumerate():
        if thread.name == "toolfs-parts":
            thread.join(30)


def test_parts_come_in_their_order_and_end() -> None:
    assert list(patient(range(100), 30)) == list(range(100))


def test_a_part_that_does_not_come_ends_the_call() -> None:
    comes = threading.Event()

    def parts() -> Iterator[int]:
        yield 1
        comes.wait(30)

    taken = []
    with pytest.raises(FsError) as ended:
        for part in patient(parts(), 0.05):
            taken.append(part)
    assert (taken, ended.value.code) == ([1], FsErrorCode.FS_ABORTED)
    comes.set()
    _join()
    assert _threads() == 0


def test_a_failure_of_the_transport_arrives() -> None:
    def parts() -> Iterator[int]:
        yield 1
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        list(patient(parts(), 30))


def test_who_stops_early_leaves_no_thread_waiting_for_room() -> None:
    waiting = patient(iter(range(1_000)), 30)
    assert next(waiting) == 0
    waiting.close()  # type: ignore[attr-defined]
    _join()
    assert _threads() == 0


def test_one_has_the_turn_of_a_key_and_no_lock_is_left() -> None:
    turns, inside, most = Turns(), [0], [0]

    def work(number: int) -> None:
        with turns.of(b"key %d" % (number % 2)):
            if number % 2 == 0:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                # Lets another thread go on, which would be inside too if it could.
                time.sleep(0)
                inside[0] -= 1

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(2_000)))
    assert most == [1]
    assert turns._locks == {}
