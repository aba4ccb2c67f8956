"""The examples run as they are, each with its real SDK, a scripted model and the real binary."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from format_server import example_environment

EXAMPLES = Path(__file__).parent.parent / "examples"
PACKAGE = EXAMPLES.parent

SDKS = {
    "anthropic_messages": "anthropic",
    "openai_chat": "openai",
    "openai_responses": "openai",
    "openai_agents": "agents",
    "gemini": "google.genai",
    "mcp_server": "mcp",
}

sys.path.insert(0, str(EXAMPLES))
scripted: Any = importlib.import_module("scripted")


def need(module: str) -> Any:
    """The module of an SDK. Skips where it is not installed, and says so."""
    return pytest.importorskip(module, reason=f"`{module}` is not there: pip install -r requirements-sdks.txt")


def run(name: str, *arguments: str) -> str:
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments]
    process = subprocess.run(command, env=example_environment(), capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name, content in scripted.FILES.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def files(workspace: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in workspace.iterdir()}


CHANGED = {"notes.txt": "alpha\ngamma\n", "todo.txt": "[x] beta to gamma\n"}


@pytest.mark.parametrize(("name", "sdk"), SDKS.items(), ids=SDKS.keys())
def test_an_example_that_does_not_do_its_task(name: str, sdk: str, workspace: Path) -> None:
    need(sdk)

    assert run(name, str(workspace)) == "Done: both files are changed.\n"

    assert files(workspace) == CHANGED


def test_an_example_without_a_directory_works_in_a_fresh_one() -> None:
    need("openai")

    assert run("openai_chat") == "Done: both files are changed.\n"


def test_an_agent_that_does_not_recover() -> None:
    assert run("scripted_agent") == "done in 5 answers\n"


def test_an_agent_among_the_examples_that_is_not_run() -> None:
    # Those that serve the seam or the gate have tests of their own.
    agents = {path.stem for path in EXAMPLES.glob("*.py") if "from toolfs import" in path.read_text()}

    assert agents == {*SDKS, "scripted_agent"}


def test_a_host_that_cannot_use_the_mcp_server(workspace: Path) -> None:
    mcp, anyio = need("mcp"), need("anyio")

    server = mcp.StdioServerParameters(
        command=sys.executable,
        args=[str(EXAMPLES / "mcp_server.py"), "--live", str(workspace)],
        env=example_environment(),
    )

    async def main() -> None:
        async with mcp.Client(server) as host:
            assert [tool.name for tool in (await host.list_tools()).tools] == ["read", "write", "edit"]
            assert "## edit" in (host.instructions or "")
            refused: Any = await host.call_tool("edit", scripted.EDIT_NOTES)
            assert refused.is_error and "FS_NOT_OBSERVED" in refused.content[0].text
            await host.call_tool("read", {"file_path": "notes.txt"})
            edited: Any = await host.call_tool("edit", scripted.EDIT_NOTES)
            assert not edited.is_error

    anyio.run(main)

    assert files(workspace)["notes.txt"] == "alpha\ngamma\n"


Result = scripted.Result
REFUSED = Result("call_1_0", True, "FS_NOT_OBSERVED: …")
READ = Result("call_1_1", False, "1: [ ] beta to gamma")


@pytest.mark.parametrize(
    "results",
    [
        [],
        [REFUSED],
        [READ, REFUSED],
        [Result("call_1_0", False, REFUSED.text), READ],
        [Result("call_1_1", True, REFUSED.text), READ],
        [Result("call_1_0", True, "something else"), READ],
    ],
    ids=["none", "one of two", "in another order", "not marked", "of another call", "another text"],
)
def test_a_script_that_takes_any_result(results: list[Any]) -> None:
    # What makes the tests above able to fail.
    script = scripted.Script()
    script.next([])

    with pytest.raises(AssertionError):
        script.next(results)


def test_a_script_that_takes_no_result() -> None:
    script = scripted.Script()
    script.next([])

    turn, _ids = script.next([REFUSED, READ])

    assert turn.calls == (("read", {"file_path": "notes.txt"}),)


def test_an_sdk_that_is_pinned_and_not_shown() -> None:
    pinned = (PACKAGE / "requirements-sdks.txt").read_text()
    distributions = {"agents": "openai-agents", "google.genai": "google-genai"}

    for sdk in SDKS.values():
        assert f"\n{distributions.get(sdk, sdk)}==" in pinned
