"""A process that edits files which other processes edit too, for the test of two languages on one directory.

    python editor.py ADDRESS NAME SESSIONS EDITS

Adds lines `NAME-SESSION-EDIT` before the line `END` of the files `shared-0` and `shared-1`, in turn, and prints each
line that the server acknowledged.
"""

import asyncio
import sys

from toolfs import AsyncSession, AsyncToolfs, FsErrorCode, ToolError

REFUSED_FOR_NOW = {FsErrorCode.FS_STALE_VERSION, FsErrorCode.FS_NOT_OBSERVED}


async def add(session: AsyncSession, path: str, line: str) -> None:
    """Adds a line, following the remedy of each refusal: read again, then retry."""
    while True:
        try:
            await session.edit(path, old_string="END\n", new_string=f"{line}\nEND\n")
        except ToolError as refusal:
            if refusal.code not in REFUSED_FOR_NOW:
                raise
            await session.read(path)
        else:
            print(line, flush=True)
            return


async def work(client: AsyncToolfs, name: str, number: int, edits: int) -> None:
    """One session's edits, one after the other."""
    async with client.open_session() as session:
        for edit in range(edits):
            await add(session, f"shared-{(number + edit) % 2}", f"{name}-{number}-{edit}")


async def main(address: str, name: str, sessions: int, edits: int) -> None:
    """All sessions at once."""
    async with AsyncToolfs.connect(address) as client:
        await asyncio.gather(*(work(client, name, number, edits) for number in range(sessions)))


if __name__ == "__main__":
    address, name, sessions, edits = sys.argv[1:]
    asyncio.run(main(address, name, int(sessions), int(edits)))
