"""What is shipped: the generated half is current, and sdist and wheel hold what they must."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent


def test_the_client_that_blocks_is_what_is_generated_from_the_other() -> None:
    command = [sys.executable, str(PACKAGE / "tools" / "generate_sync.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_a_stale_half_is_noticed(tmp_path: Path) -> None:
    for part in ("tools", "toolfs/_async", "toolfs/_sync"):
        (tmp_path / part).mkdir(parents=True)
        for file in (PACKAGE / part).glob("*.py"):
            (tmp_path / part / file.name).write_bytes(file.read_bytes())
    stale = tmp_path / "toolfs" / "_sync" / "session.py"
    stale.write_text(stale.read_text() + "\n")
    command = [sys.executable, str(tmp_path / "tools" / "generate_sync.py"), "--check"]
    assert subprocess.run(command, capture_output=True).returncode == 1


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it."""
    place = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(place), str(PACKAGE)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (sdist,), (wheel,) = place.glob("*.tar.gz"), place.glob("*.whl")
    return sdist, wheel


def test_the_wheel_is_typed_licensed_and_whole(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        names = set(wheel.namelist())
        metadata = wheel.read("toolfs-0.1.0.dist-info/METADATA").decode()
    modules = {str(path.relative_to(PACKAGE)) for path in (PACKAGE / "toolfs").rglob("*.py*") if path.suffix != ".pyc"}
    assert modules | {"toolfs/py.typed"} <= names
    assert {f"toolfs-0.1.0.dist-info/licenses/LICENSE-{kind}" for kind in ("MIT", "APACHE")} <= names
    assert not any(name.startswith(("tests/", "bench/", "tools/")) for name in names)
    for line in ("Requires-Python: >=3.10", "License-Expression: MIT OR Apache-2.0", "# toolfs"):
        assert line in metadata


def test_the_sdist_holds_its_pages_and_licences(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as sdist:
        names = set(sdist.getnames())
    for name in ("README.md", "PROVIDERS.md", "LICENSE-MIT", "LICENSE-APACHE", "pyproject.toml", "toolfs/py.typed"):
        assert f"toolfs-0.1.0/{name}" in names


def test_the_licences_are_those_of_the_repository() -> None:
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        assert (PACKAGE / name).read_bytes() == (PACKAGE.parents[1] / name).read_bytes()
