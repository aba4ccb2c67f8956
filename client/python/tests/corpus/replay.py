"""Replays one case: set-up, steps, expectations, and the disk at the end."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from . import disk, match, text
from .case import Case
from .door import Answer, Call, Door, Opening
from .judge import TOOLS, judge
from .server import Server

Connect = Callable[[str], Awaitable[Door]]
"""Makes a door to the server at an address (`unix:PATH`)."""

PATIENCE = 60.0
"""Seconds that one step may take. Far more than any needs."""


async def replay(case: Case, connect: Connect) -> list[str]:
    """Replays a case against a server of its own. Returns what was not as expected: nothing when the case passes.

    The steps end at the first that is not as expected, since what follows would only repeat that.
    """
    with _place() as place:
        root, outside = place / "root", place / "outside"
        disk.make(root, case.files)
        outside.mkdir()
        server = Server(place, root, flags=case.server, persistent=case.restarts)
        await asyncio.to_thread(server.start)
        try:
            door = await connect(server.address)
            try:
                problems = await _Run(door, server, root).steps(case.steps)
            finally:
                await door.close()
        finally:
            ended = await asyncio.to_thread(server.stop)
        if problems:
            return [*problems, *ended, *server.errors().splitlines()]
        left = disk.leaves(outside)
        problems = [f"disk: `{name}` was made outside the root" for name in left]
        return [*ended, *disk.differences(root, case.files, case.disk), *problems]


@contextlib.contextmanager
def _place() -> Iterator[Path]:
    """A directory of a case's own, by its real path."""
    with tempfile.TemporaryDirectory(prefix="toolfs-corpus-") as name:
        yield Path(name).resolve()


class _Run:
    """The steps of one case on their way."""

    def __init__(self, door: Door, server: Server, root: Path) -> None:
        self._door = door
        self._server = server
        self._root = root
        self._opened: set[str] = set()
        self._bindings = match.Bindings()
        self._request_ids: dict[str, str] = {}

    async def steps(self, steps: list[dict[str, Any]]) -> list[str]:
        for number, step in enumerate(steps, start=1):
            together: list[dict[str, Any]] = step.get("parallel", [step])
            for one in together:
                await self._open_when_needed(one)
            answers = await asyncio.wait_for(asyncio.gather(*[self._do(one) for one in together]), PATIENCE)
            # Judged in the order of the case, so that the names of `$bind` do not depend on who came first.
            for place, (one, answer) in enumerate(zip(together, answers, strict=True), start=1):
                problems = judge(one.get("expect", {}), answer, self._bindings)
                if problems:
                    which = f"step {number}" if one is step else f"step {number}, number {place} of those in parallel"
                    return [f"{which}: {problem}" for problem in problems]
        return []

    async def _open_when_needed(self, step: dict[str, Any]) -> None:
        """Opens the session `main` where a step needs it and the case did not."""
        if "outside" in step or "restart" in step:
            return
        session = step.get("session", "main")
        if "open" in step:
            self._opened.add(session)
        elif session == "main" and "main" not in self._opened:
            self._opened.add(session)
            answer = await self._door.open(session, Opening())
            if answer.status is not None:
                raise RuntimeError(f"the session `main` could not be opened: {answer.status}")
        elif session is not None and session not in self._opened:
            raise ValueError(f"the session `{session}` is used before it is opened")

    async def _do(self, step: dict[str, Any]) -> Answer:
        session = step.get("session", "main")
        if "open" in step:
            return await self._door.open(session, Opening(**step["open"]))
        if "close" in step:
            return await self._door.close_session(session)
        if "forget" in step:
            return await self._door.forget(session, step["forget"].get("paths"))
        if "resume" in step:
            return await self._door.resume(session)
        if "outside" in step:
            disk.change(self._root, step["outside"])
            return Answer()
        if "restart" in step:
            ended = await asyncio.to_thread(self._server.stop)
            if ended:
                raise RuntimeError("\n".join(ended))
            await asyncio.to_thread(self._server.start)
            await self._door.restarted()
            return Answer()
        return await self._door.call(self._call(step))

    def _call(self, step: dict[str, Any]) -> Call:
        tool = next((tool for tool in TOOLS if tool in step), None)
        arguments: dict[str, Any] | str
        if tool is None:
            call = step["call"]
            name, arguments = call["name"], call["arguments"] if "arguments" in call else call["arguments_json"]
        else:
            name = tool
            arguments = {
                key: text.build(value) if isinstance(value, (str, dict)) else value for key, value in step[tool].items()
            }
        request_id = step.get("request_id")
        if request_id is not None:
            request_id = self._request_ids.setdefault(request_id, str(uuid.uuid4()))
        return Call(
            tool=name,
            arguments=arguments,
            typed=tool is not None,
            session=step.get("session", "main"),
            request_id=request_id,
            tool_call_id=step.get("tool_call_id"),
            dry_run=step.get("dry_run"),
            view=step.get("view"),
        )
