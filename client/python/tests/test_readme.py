"""The code of the README runs as it stands there, in its order, and prints what the page says."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from format_server import example_environment

PACKAGE = Path(__file__).parent.parent
RUNNER = PACKAGE / "tools" / "run_quickstart.py"

sys.path.insert(0, str(PACKAGE / "examples"))
sys.path.insert(0, str(PACKAGE / "tools"))
import run_quickstart  # noqa: E402 - the tools are no package

scripted: Any = importlib.import_module("scripted")

EDIT = ("edit", {"file_path": "notes.txt", "old_string": "gamma", "new_string": "delta"})
TURNS = (
    scripted.Turn(calls=(EDIT, ("read", {"file_path": "notes.txt"}))),
    scripted.Turn(after=((True, "FS_NOT_OBSERVED"), (False, "2: gamma")), calls=(EDIT,)),
    scripted.Turn(after=((False, "1 replacement"),), text="Done."),
)


@contextmanager
def messages_api() -> Iterator[str]:
    """A Messages API on the loopback that plays the script; gives its URL."""
    script = scripted.Script(TURNS)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answer = json.dumps(scripted.anthropic_answer(script, body)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
    assert script.played == len(TURNS)


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RUNNER), *arguments]
    variables = {**example_environment(), **variables}
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120)


def test_a_quickstart_that_does_not_run() -> None:
    process = run()

    assert process.returncode == 0, process.stderr
    assert process.stdout == "README.md: 3 blocks ran\n"


def test_a_block_of_the_readme_that_does_not_run() -> None:
    pytest.importorskip("anthropic", reason="`anthropic` is not there: pip install -r requirements-sdks.txt")
    blocks = run_quickstart.blocks((PACKAGE / "README.md").read_text(), everything=True)

    with messages_api() as url:
        process = run("--all", ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="none")

        assert process.returncode == 0, process.stderr
    assert process.stdout == f"README.md: {len(blocks)} blocks ran\n"
    # Each tells what it prints: otherwise nothing of it would be compared.
    assert [block.line for block in blocks if block.output is None] == []


def test_a_link_to_nothing() -> None:
    links = re.findall(r"\]\((?!https://)([^)#]+)\)", (PACKAGE / "README.md").read_text())

    assert links
    assert [link for link in links if not (PACKAGE / link).exists()] == []


PAGE = """
<!-- quickstart -->
```python
a = 1
print(a)
```

```text
1
```
<!-- /quickstart -->
```python
print(a + 1)
```
"""


def page(directory: Path, text: str) -> str:
    path = directory / "PAGE.md"
    path.write_text(text)
    return str(path)


def test_a_page_of_which_only_the_quickstart_runs(tmp_path: Path) -> None:
    assert run(page(tmp_path, PAGE)).stdout == "PAGE.md: 1 blocks ran\n"
    assert run("--all", page(tmp_path, PAGE)).stdout == "PAGE.md: 2 blocks ran\n"


def test_an_output_that_is_not_what_the_page_says(tmp_path: Path) -> None:
    process = run(page(tmp_path, PAGE.replace("a = 1", "a = 2")))

    assert process.returncode != 0
    assert "PAGE.md:4: the block prints\n2\n\nand the page says\n1" in process.stderr


def test_a_failure_whose_line_cannot_be_found(tmp_path: Path) -> None:
    process = run("--all", page(tmp_path, PAGE.replace("a + 1", "a + b")))

    assert process.returncode != 0
    assert 'PAGE.md", line 13' in process.stderr


def test_a_page_without_a_block(tmp_path: Path) -> None:
    process = run("--all", page(tmp_path, "nothing\n"))

    assert process.returncode == 1
    assert "no block to run" in process.stderr
