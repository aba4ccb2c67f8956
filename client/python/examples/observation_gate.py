"""The server's own policy in small, for `toolfs serve --policy unix:PATH`: whoever changes a file must have seen it.

    python examples/observation_gate.py unix:/run/user/1000/gate.sock

| the session saw | write | edit |
| --- | --- | --- |
| nothing yet | creates, never replaces | `FS_NOT_OBSERVED` |
| that nothing is there | creates, never replaces | `FS_NOT_FOUND` |
| content | replaces exactly that | edits exactly that |

Observations are held in memory, within bounds. Room is made by dropping the oldest of a session and remembering how old
they were, so that nothing as old as that is recorded any more: making room loses observations, and brings back none.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from toolfs.policy import (
    CreateIfAbsent,
    EditGuard,
    GateCapabilities,
    Observation,
    PolicyGate,
    Present,
    ReplaceIfVersion,
    WriteGuard,
    not_observed,
    observed_absent,
    serve_gate,
)

MAX_TARGETS = 10_000
"""How many targets of one session are remembered."""

MAX_ENDED_SESSIONS = 100_000
"""How many ended sessions are remembered as such, so that a late record does not revive them."""

_NEVER = -(1 << 63)


@dataclass
class _Session:
    """What one session saw or forgot (`None`) at each target, and in which order."""

    facts: dict[bytes, tuple[int, Observation | None]] = field(default_factory=dict)
    floor: int = _NEVER
    """Nothing at or below this order is recorded any more."""

    def put(self, target: bytes, observation: Observation | None, order: int) -> None:
        known, _ = self.facts.get(target, (_NEVER, None))
        # Of one order the first stays, but that a forgetting wins.
        wins = order >= known if observation is None else order > known
        if order <= self.floor or not wins:
            return
        self.facts[target] = (order, observation)
        if len(self.facts) > MAX_TARGETS:
            self.drop(sorted(order for order, _ in self.facts.values())[len(self.facts) // 2])

    def drop(self, floor: int) -> None:
        self.floor = max(self.floor, floor)
        self.facts = {target: fact for target, fact in self.facts.items() if fact[0] > self.floor}


class ObservationGate(PolicyGate):
    """Keeps what each session last saw."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._sessions: dict[str, _Session] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()

    def capabilities(self) -> GateCapabilities:
        return GateCapabilities("python-observation", persistent=False)

    def decide_write(self, session: str | None, target: bytes) -> WriteGuard:
        seen = self._seen(session, target)
        return ReplaceIfVersion(seen.version) if isinstance(seen, Present) else CreateIfAbsent()

    def decide_edit(self, session: str | None, target: bytes) -> EditGuard:
        seen = self._seen(session, target)
        if seen is None:
            raise not_observed(session)
        if not isinstance(seen, Present):
            raise observed_absent()
        return ReplaceIfVersion(seen.version)

    def record_observation(self, session: str, target: bytes, observation: Observation, order: int) -> None:
        with self._guard:
            if session not in self._ended:
                self._sessions.setdefault(session, _Session()).put(target, observation, order)

    def forget(self, session: str, targets: Sequence[bytes] | None, order: int) -> None:
        with self._guard:
            if session in self._ended:
                return
            state = self._sessions.setdefault(session, _Session())
            if targets is None:
                state.drop(order)
            else:
                for target in targets:
                    state.put(target, None, order)

    def end_session(self, session: str) -> None:
        with self._guard:
            self._sessions.pop(session, None)
            self._ended[session] = None
            while len(self._ended) > MAX_ENDED_SESSIONS:
                self._ended.popitem(last=False)

    def _seen(self, session: str | None, target: bytes) -> Observation | None:
        if session is None:
            return None
        with self._guard:
            state = self._sessions.get(session)
            return None if state is None else state.facts.get(target, (_NEVER, None))[1]


def _end_with_input(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def main() -> None:
    """Serves until SIGTERM or SIGINT, or, if told so, until standard input ends."""
    parser = argparse.ArgumentParser(description="Serve an observation gate for toolfs.")
    parser.add_argument("address", metavar="ADDRESS", help="unix:PATH or HOST:PORT on this host")
    parser.add_argument("--until-stdin-closes", action="store_true", help="end when standard input ends")
    options = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    if options.until_stdin_closes:
        threading.Thread(target=_end_with_input, args=(ended,), daemon=True).start()
    with serve_gate(ObservationGate(), options.address) as serving:
        print(f"ready at {serving.address}", flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
