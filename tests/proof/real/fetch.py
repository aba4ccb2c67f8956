#!/usr/bin/env python3
"""Fetches the pairs of releases that the proof `real-edits` replays: fetch.py DIRECTORY [--lock].

Each package manager fetches for itself, so that whatever registry it is set up for answers. Nothing that is fetched is
run or installed. What is there already stays; what cannot be had is said, and is no failure: the proof says it, too.
Digests are compared with packages.lock; a difference is a failure. `--lock` adds releases to that file that it lacks.

What comes out is DIRECTORY/LANGUAGE/PACKAGE/old and .../new, with `/` and `:` in a package's name as `_`.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIST = HERE / "packages.txt"
LOCK = HERE / "packages.lock"
SECONDS = 180


class Unavailable(Exception):
    """A package could not be had."""


def run(command: list[str], directory: Path) -> str:
    """Runs a package manager, and gives what it prints."""
    try:
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=SECONDS, check=False)
    except FileNotFoundError:
        raise Unavailable(f"there is no {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command[0]} took longer than {SECONDS} s") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Unavailable(f"{command[0]}: {said[-1] if said else done.returncode}")
    return done.stdout


def only_file(directory: Path, pattern: str) -> Path:
    found = list(directory.glob(pattern))
    if len(found) != 1:
        raise Unavailable(f"{len(found)} files are `{pattern}`")
    return found[0]


def sha256(path: Path) -> str:
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


def unzip(archive: Path, into: Path) -> str:
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(into)
    return sha256(archive)


def python(package: str, version: str, work: Path, into: Path) -> str:
    # A wheel: to take a source archive, pip would run what is in it.
    asked = f"{package}=={version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", ".", asked]
    run(command, work)
    return unzip(only_file(work, "*.whl"), into)


def javascript(package: str, version: str, work: Path, into: Path) -> str:
    run(["npm", "pack", "--silent", "--ignore-scripts", f"{package}@{version}"], work)
    archive = only_file(work, "*.tgz")
    with tarfile.open(archive) as opened:
        opened.extractall(into, filter="data")
    return sha256(archive)


def rust(package: str, version: str, work: Path, into: Path) -> str:
    manifest = f'[package]\nname = "fetched"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\n{package} = "={version}"\n'
    (work / "Cargo.toml").write_text(manifest)
    (work / "src").mkdir()
    (work / "src/lib.rs").touch()
    described = json.loads(run(["cargo", "metadata", "--quiet", "--format-version", "1"], work))
    found = next(entry for entry in described["packages"] if (entry["name"], entry["version"]) == (package, version))
    shutil.copytree(Path(found["manifest_path"]).parent, into)
    locked = (work / "Cargo.lock").read_text().split("[[package]]")
    entry = next(entry for entry in locked if f'name = "{package}"\nversion = "{version}"' in entry)
    return "sha256:" + entry.split('checksum = "')[1].split('"')[0]


def go(package: str, version: str, work: Path, into: Path) -> str:
    (work / "go.mod").write_text("module fetched\n")
    fetched = json.loads(run(["go", "mod", "download", "-json", f"{package}@{version}"], work))
    shutil.copytree(fetched["Dir"], into)
    return fetched["Sum"]


def java(package: str, version: str, work: Path, into: Path) -> str:
    artifact = f"-Dartifact={package}:{version}:jar:sources"
    run(["mvn", "--batch-mode", "--quiet", "dependency:copy", artifact, f"-DoutputDirectory={work}"], work)
    return unzip(only_file(work, "*.jar"), into)


FETCH = {"python": python, "javascript": javascript, "rust": rust, "go": go, "java": java}


def fetch_pair(language: str, package: str, versions: list[str], target: Path) -> list[str]:
    """Fetches both releases, and gives their digests. The pair is there as a whole or not at all."""
    with tempfile.TemporaryDirectory(dir=target.parent.parent) as temporary:
        pair, digests = Path(temporary) / "pair", []
        for name, version in zip(("old", "new"), versions):
            work = Path(temporary) / f"work-{name}"
            work.mkdir()
            digests.append(FETCH[language](package, version, work, pair / name))
        # Module caches are read-only, and what comes from them is.
        for directory, _, _ in os.walk(pair):
            os.chmod(directory, 0o755)
        target.parent.mkdir(parents=True, exist_ok=True)
        pair.rename(target)
    return digests


def main() -> int:
    arguments = sys.argv[1:]
    locks = "--lock" in arguments
    root = Path(next(argument for argument in arguments if argument != "--lock")).resolve()
    root.mkdir(parents=True, exist_ok=True)
    known = dict(line.rsplit(" ", 1) for line in LOCK.read_text().splitlines()) if LOCK.exists() else {}
    lock, failed = {}, False
    for line in LIST.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        language, package, *versions = line.split()
        releases = [f"{language} {package} {version}" for version in versions]
        is_known = all(release in known for release in releases)
        target = root / language / package.replace("/", "_").replace(":", "_")
        if target.exists() and is_known:
            lock |= {release: known[release] for release in releases}
            continue
        shutil.rmtree(target, ignore_errors=True)
        try:
            fetched = dict(zip(releases, fetch_pair(language, package, versions, target)))
        except Unavailable as reason:
            print(f"{language} {package}: skipped: {reason}")
            continue
        if is_known or not locks:
            wrong = [release for release, digest in fetched.items() if known.get(release) != digest]
            if wrong:
                shutil.rmtree(target)
                print(f"not what packages.lock says: {', '.join(wrong)}")
                failed = True
        lock |= fetched
    if locks and not failed:
        LOCK.write_text("".join(f"{release} {digest}\n" for release, digest in lock.items()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
