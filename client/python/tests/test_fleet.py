"""A fleet: 200 asyncio sessions with mixed calls on one server. Every acknowledged edit is there at the end."""

from __future__ import annotations

import asyncio
import random

from conftest import Live

from toolfs import AsyncSession, AsyncToolfs, ToolError

AGENTS = 200
SHARED = 8
TURNS = 12


async def test_no_acknowledged_edit_of_200_sessions_is_lost(live: Live) -> None:
    for number in range(SHARED):
        (live.root / f"shared-{number}.txt").write_text("begin\nend\n")
    acknowledged: dict[str, list[str]] = {f"shared-{number}.txt": [] for number in range(SHARED)}

    async def agent(client: AsyncToolfs, number: int) -> None:
        choices = random.Random(number)
        async with client.open_session(labels={"agent": str(number)}) as session:
            own = f"own/{number}.txt"
            await session.write(own, "")
            for turn in range(TURNS):
                kind = choices.randrange(4)
                if kind == 0:
                    await session.write(own, f"{number} {turn}\n" * choices.randrange(50))
                elif kind == 1:
                    await session.read(own)
                elif kind == 2:
                    reply = await session.call("read", {"file_path": f"none-{number}.txt"})
                    assert reply.error is not None and reply.error.code == "FS_NOT_FOUND"
                else:
                    name = f"shared-{choices.randrange(SHARED)}.txt"
                    if await insert(session, name, f"{number}.{turn}"):
                        acknowledged[name].append(f"{number}.{turn}")

    async with AsyncToolfs.connect(live.address) as client:
        await asyncio.gather(*[agent(client, number) for number in range(AGENTS)])

    for name, words in acknowledged.items():
        lines = (live.root / name).read_text().splitlines()
        assert lines[0] == "begin" and lines[-1] == "end"
        assert sorted(lines[1:-1]) == sorted(words)
    # The sessions did meet: else nothing was tested.
    assert sum(map(len, acknowledged.values())) > AGENTS
    assert len(list((live.root / "own").iterdir())) == AGENTS


async def insert(session: AsyncSession, name: str, word: str) -> bool:
    """Adds a line of one's own before the last one, reading again whenever somebody was faster. Says whether it did."""
    for _ in range(1000):
        await session.read(name)
        try:
            await session.edit(name, "\nend\n", f"\n{word}\nend\n")
            return True
        except ToolError as error:
            if error.code != "FS_STALE_VERSION":
                raise
    return False
