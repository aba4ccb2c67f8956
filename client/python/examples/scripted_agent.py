"""An agent's loop without an SDK: a model that forgets to read is refused, recovers, and loses nothing.

python examples/scripted_agent.py
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from pathlib import Path

from toolfs import FsErrorCode, ModelReply, Session, Toolfs

Call = tuple[str, dict[str, object]]
Model = Generator[list[Call], list[ModelReply], None]
"""A model: it yields calls, and is sent their replies."""

EDIT: Call = ("edit", {"file_path": "notes.txt", "old_string": "beta", "new_string": "gamma"})
READ: Call = ("read", {"file_path": "notes.txt"})


def scripted_model() -> Model:
    """Edits a file that it has not read, and does what each refusal says."""
    (refused,) = yield [EDIT]
    assert refused.is_error
    assert refused.error is not None and refused.error.code == FsErrorCode.FS_NOT_OBSERVED
    assert "read it first" in refused.text

    # Two calls in one answer.
    page, created = yield [READ, ("write", {"file_path": "log/today.txt", "content": "beta is now gamma\n"})]
    assert page.text.startswith("1: alpha\n2: beta\n")
    assert not created.is_error

    (stale,) = yield [EDIT]
    assert stale.error is not None and stale.error.code == FsErrorCode.FS_STALE_VERSION

    yield [READ]
    (edited,) = yield [EDIT]
    assert not edited.is_error


def run(session: Session, model: Model, *, interruption: Path) -> int:
    """The loop: makes the calls of each answer, in its order, and gives all replies back. Returns how many answers."""
    calls, answers = next(model), 1
    while True:
        replies = [session.call(name, arguments) for name, arguments in calls]
        if answers == 2:
            # Somebody else changes the file behind the agent's back.
            interruption.write_text("alpha\nbeta\ndelta\n")
        try:
            calls, answers = model.send(replies), answers + 1
        except StopIteration:
            return answers


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        notes = Path(directory, "notes.txt")
        notes.write_text("alpha\nbeta\n")
        with Toolfs.local(root=directory) as client, client.open_session() as session:
            answers = run(session, scripted_model(), interruption=notes)

        assert answers == 5
        # The edit landed on what the other one wrote: nothing is lost.
        assert notes.read_text() == "alpha\ngamma\ndelta\n"
        assert Path(directory, "log", "today.txt").read_text() == "beta is now gamma\n"
    print(f"done in {answers} answers")


if __name__ == "__main__":
    main()
