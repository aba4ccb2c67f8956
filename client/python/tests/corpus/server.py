"""The server of a case: the real binary on a private Unix socket."""

from __future__ import annotations

import os
import selectors
import subprocess
from pathlib import Path

PATIENCE = 30.0
"""Seconds that a server may take to come up, and to end when it is told to. Far more than it needs."""


def binary() -> Path:
    """The binary that `TOOLFS_BIN` names. Raises `RuntimeError` when there is none."""
    named = os.environ.get("TOOLFS_BIN", "")
    path = Path(named)
    if not named or not path.is_file():
        raise RuntimeError(f"`TOOLFS_BIN` names no file (`{named}`): set it to the `toolfs` binary, or run `make test`")
    return path


def environment(home: Path) -> dict[str, str]:
    """The environment of the binary: its configuration and state are below `home`, which need not be there.

    The settings of whoever runs the tests are left out: they are not the tests', and the server refuses those that it
    does not know.
    """
    ours = ("TOOLFS_", "OTEL_", "RUST_LOG")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "XDG_CONFIG_HOME": str(home), "XDG_STATE_HOME": str(home)}


class Server:
    """A server that runs until it is stopped, and can be started again on the same socket and state."""

    def __init__(self, place: Path, root: Path, *, flags: list[str], persistent: bool) -> None:
        """`place` is a directory of the case's own, outside `root`, for the socket and the state."""
        self._socket = place / "toolfs.sock"
        self._home = place / "home"
        self._command = [str(binary()), "serve", "--root", f"{root}=/workspace", "--listen", self.address]
        self._command += ["--state", str(place / "state") if persistent else "memory", *flags]
        self._errors = place / "stderr"
        self._process: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        """The address for clients: `unix:PATH`."""
        return f"unix:{self._socket}"

    def start(self) -> None:
        """Starts it and waits until it says that it is ready. Raises `RuntimeError` when it does not."""
        with self._errors.open("ab") as errors:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment(self._home),
                umask=0o022,
                text=True,
            )
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            line = self._process.stdout.readline() if selector.select(PATIENCE) else ""
        if "listening on" not in line:
            self.kill()
            raise RuntimeError(f"the server did not get ready; it said `{line.strip()}`\n{self.errors()}")

    def stop(self) -> list[str]:
        """Tells it to end by SIGTERM, and waits for that. Says what was wrong with its end: nothing, as a rule."""
        if self._process is None:
            return []
        process, self._process = self._process, None
        already = process.poll()
        process.terminate()
        try:
            # Reads what else it said, so that a full pipe cannot hold it.
            process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return [f"the server did not end within {PATIENCE:.0f} s of SIGTERM\n{self.errors()}"]
        if already is not None:
            return [f"the server ended by itself with {already}\n{self.errors()}"]
        return [] if process.returncode == 0 else [f"the server ended with {process.returncode}\n{self.errors()}"]

    def kill(self) -> None:
        """Ends it at once, however it is."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def errors(self) -> str:
        """What it wrote to standard error, in all its runs."""
        return self._errors.read_text(encoding="utf-8", errors="replace") if self._errors.exists() else ""
