"""A server of one's own: `toolfs serve` as a child process on a private Unix socket.

Its standard input is a pipe that only this process holds, and it drains and ends when that closes: so it ends with this
process, however that ends. What a killed process leaves behind is an empty directory in the temporary directory, which
a later server removes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from toolfs.error import ArgumentError, LocalServerError
from toolfs.seconds import seconds

Root = str | os.PathLike[str]
"""A directory to serve, as `DIR` or `DIR=NAME`, where NAME is the absolute path under which agents see it."""

_PREFIX = "toolfs-local-"
_ABANDONED_S = 600.0
"""After how many seconds an empty directory is nobody's: no start takes as long."""
_SOCKET_PATH_MAX = 100
"""Bytes of a socket's path that every Linux takes."""
_STDERR_LINES = 200
_STDERR_LINE_MAX = 2000
_DRAIN_S = 2.0
"""How long the server may take to end when its input has: its calls are given up by then, and it needs milliseconds."""
_TERMINATE_S = 1.0
"""How long it may take after SIGTERM, until it is killed: no edit is left half done by that."""


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """How to start the server."""

    roots: tuple[str, ...]
    binary: Root | None
    policy: str | None
    state: str
    args: tuple[str, ...]
    start_timeout: float

    def command(self, binary: str, address: str) -> list[str]:
        """The command line."""
        roots = [word for root in self.roots for word in ("--root", root)]
        policy = [] if self.policy is None else ["--policy", self.policy]
        flags = ["--listen", address, "--state", self.state, "--until-stdin-closes"]
        return [binary, "serve", *roots, *flags, *policy, *self.args]


def local_options(
    root: Root | Sequence[Root],
    binary: Root | None,
    policy: str | None,
    state: Root,
    args: Sequence[str],
    start_timeout: float,
) -> LocalOptions:
    """The options as values of one kind."""
    roots = [root] if isinstance(root, (str, os.PathLike)) else root
    if isinstance(roots, bytes) or not isinstance(roots, Sequence):
        # The keys of a mapping would be served, and its values be ignored.
        raise ArgumentError("root", f"must be `DIR`, `DIR=NAME` or a list of such, not `{type(roots).__name__}`")
    if not all(isinstance(each, (str, os.PathLike)) for each in roots):
        raise ArgumentError("root", "must hold strings or paths only, each `DIR` or `DIR=NAME`")
    return LocalOptions(
        tuple(os.fspath(root) for root in roots),
        binary,
        policy,
        os.fspath(state),
        tuple(args),
        seconds("start_timeout", start_timeout),
    )


def find_binary(option: Root | None, environ: Mapping[str, str]) -> str:
    """The `toolfs` command: the option, else `TOOLFS_BIN`, else what is on `PATH`. An option that is a bare name is
    looked up there too.

    Raises `LocalServerError` if there is none.
    """
    if option is not None and (name := os.fspath(option)) and os.sep not in name:
        option = shutil.which(name, path=environ.get("PATH"))
        if option is None:
            raise LocalServerError(f"the option `binary` names `{name}`, which is not on `PATH`: give its path")
    for given, said in ((option, "the option `binary`"), (environ.get("TOOLFS_BIN"), "the variable `TOOLFS_BIN`")):
        if given:
            path = os.fspath(given)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return os.path.abspath(path)
            raise LocalServerError(f"{said} names `{path}`, which is no executable file")
    found = shutil.which("toolfs", path=environ.get("PATH"))
    if found is None:
        raise LocalServerError(
            "there is no `toolfs` command: neither the option `binary` nor the variable `TOOLFS_BIN` names one, "
            "and none is on `PATH`; take one from a release, or build it with `cargo install --path server/daemon` "
            "in a checkout of https://github.com/toolfs/toolfs"
        )
    return found


class LocalServer:
    """A running server. Its address is `unix:` and a path in a directory that only this user can enter."""

    def __init__(self, options: LocalOptions) -> None:
        """Starts it and waits until it is ready. Raises `LocalServerError` with the server's own words."""
        binary = find_binary(options.binary, os.environ)
        directory = _private_directory()
        self.address = f"unix:{directory}/toolfs.sock"
        command = options.command(binary, self.address)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TOOLFS_")}
        try:
            with _FORKING:
                # In a session of its own: an interrupt from the terminal is for this process, which may still have
                # calls.
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=environment,
                    start_new_session=True,
                )
                self._end = weakref.finalize(self, _end, self._process, directory)
                _RUNNING.add(self)
        except (OSError, TypeError, ValueError) as error:
            # A NUL in an argument is a `ValueError`, and one that is no text a `TypeError`.
            shutil.rmtree(directory, ignore_errors=True)
            raise LocalServerError(f"`{binary}` cannot be started: {error}") from None
        self._words = _Words(self._process)
        if not self._words.wait_until_ready(options.start_timeout):
            ended = self._words.ended_early
            if not ended:
                # It has no calls to finish, and whoever waits has waited long enough.
                _signal(self._process, signal.SIGKILL)
            self.stop()
            status = self._process.returncode
            how = f"ended with status {status}" if ended else f"took over {options.start_timeout:g} s"
            words = self._words.errors()
            said = f"it said:\n{words}" if words else "it said nothing"
            raise LocalServerError(f"`toolfs serve` {how} before it was ready; {said}")

    @property
    def pid(self) -> int:
        """The process of the server."""
        return self._process.pid

    def errors(self) -> str:
        """The last lines that the server wrote to its standard error."""
        return self._words.errors()

    def stop(self) -> None:
        """Tells it to end, and waits for that: it is killed when it takes over 3 s. A second time does nothing."""
        self._end()
        self._words.join()

    def let_go(self) -> None:
        """Forgets it in a child process, where it is the parent's."""
        self._end.detach()
        _close_quietly(self._process.stdin)


class _Words:
    """Reads what a server says, so that it never has to wait for a reader, and keeps the end of it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._ready = threading.Event()
        self._is_ready = False
        self._errors: deque[str] = deque(maxlen=_STDERR_LINES)
        self.ended_early = False
        self._readers = [
            threading.Thread(target=self._read_output, args=(process.stdout,), name="toolfs-stdout", daemon=True),
            threading.Thread(target=self._read_errors, args=(process.stderr,), name="toolfs-stderr", daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def wait_until_ready(self, timeout: float) -> bool:
        """Whether the server said that it is ready within so many seconds."""
        self._ready.wait(timeout)
        return self._is_ready

    def errors(self) -> str:
        return "\n".join(self._errors)

    def join(self) -> None:
        """Waits for the last words of a server that has ended."""
        for reader in self._readers:
            reader.join(1.0)

    def _read_output(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                if line.startswith(b"toolfs ready"):
                    self._is_ready = True
                    self._ready.set()
        self.ended_early = not self._is_ready
        self._ready.set()

    def _read_errors(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                self._errors.append(line.decode(errors="replace").rstrip()[:_STDERR_LINE_MAX])


_RUNNING: weakref.WeakSet[LocalServer] = weakref.WeakSet()
_FORKING = threading.RLock()
"""Held while a server is started and while this process forks: a child would not know of a pipe that it inherits."""


def _let_go_of_all() -> None:
    for server in list(_RUNNING):
        server.let_go()
    _FORKING.release()


# A child by fork holds the pipe too: it would keep the server alive when the parent is gone.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_FORKING.acquire, after_in_parent=_FORKING.release, after_in_child=_let_go_of_all)


def _end(process: subprocess.Popen[bytes], directory: str) -> None:
    _close_quietly(process.stdin)
    for patience, then in ((_DRAIN_S, signal.SIGTERM), (_TERMINATE_S, signal.SIGKILL), (_TERMINATE_S, None)):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
            break
        if then is not None:
            _signal(process, then)
    shutil.rmtree(directory, ignore_errors=True)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Sends a signal to a command and to what it has started: it leads a group of its own, and may be a script."""
    # As long as nobody has waited for it, its number is nobody else's.
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


def _close_quietly(stream: IO[bytes] | None) -> None:
    if stream is not None:
        with contextlib.suppress(OSError):
            stream.close()


def _private_directory() -> str:
    try:
        parent = Path(tempfile.gettempdir())
        _remove_abandoned(parent.glob(f"{_PREFIX}*"))
        directory = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
        if not _takes_a_socket(directory):
            os.rmdir(directory)
            directory = tempfile.mkdtemp(prefix=_PREFIX, dir="/tmp")
    except OSError as error:
        raise LocalServerError(
            f"there is no directory for the server's socket: {error}; set `TMPDIR` to one that this user can write to"
        ) from None
    return directory


def _takes_a_socket(directory: str) -> bool:
    """Whether a socket there can be named, by the system, the server, and grpcio."""
    encoded = os.fsencode(directory)
    try:
        encoded.decode()
    except UnicodeDecodeError:
        return False
    return len(encoded) + len("/toolfs.sock") <= _SOCKET_PATH_MAX and b"," not in encoded


def _remove_abandoned(directories: Iterable[Path]) -> None:
    for directory in directories:
        with contextlib.suppress(OSError):
            if time.time() - directory.stat().st_mtime > _ABANDONED_S:
                directory.rmdir()
