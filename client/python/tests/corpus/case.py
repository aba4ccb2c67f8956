"""The cases: found, checked against the schema, and read."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema

from . import match

CORPUS = Path(__file__).resolve().parents[3] / "corpus"
"""The directory of the schema and of `cases/`."""


class CaseError(Exception):
    """A file of the corpus that is no case."""


@dataclass(frozen=True)
class Case:
    """One case, as `client/corpus/README.md` describes it."""

    name: str
    """The path below `cases/` without `.json`."""
    title: str
    """What is right, as a sentence."""
    server: list[str]
    """Flags that the server gets besides the usual ones."""
    files: dict[str, Any]
    """Paths and their entries at the start, in the order in which they are made."""
    steps: list[dict[str, Any]]
    """What is done, in this order."""
    disk: dict[str, Any] | None
    """The tree at the end. `None` means the one at the start."""

    @property
    def restarts(self) -> bool:
        """Whether the server is started again on the way, so that its state must be kept on disk."""
        return any("restart" in step for step in self.steps)


def load_all(directory: Path = CORPUS / "cases") -> list[Case]:
    """Every case below a directory, by name. Raises `CaseError` at the first file that is none."""
    return [load(path, path.relative_to(directory)) for path in sorted(directory.rglob("*")) if path.is_file()]


def load(path: Path, name: Path) -> Case:
    """One case. Raises `CaseError` where the file is no case, and says why."""
    if path.suffix != ".json":
        raise CaseError(f"`{path}` is no case: its name must end in `.json`")
    try:
        document = json.loads(path.read_bytes().decode("utf-8"), object_pairs_hook=_unique)
        check(document)
    except (CaseError, ValueError) as error:
        raise CaseError(f"`{path}` is no case: {error}") from error
    return Case(
        name=name.with_suffix("").as_posix(),
        title=document["title"],
        server=document.get("server", []),
        files=document.get("files", {}),
        steps=document["steps"],
        disk=document.get("disk"),
    )


def check(document: Any) -> None:
    """Raises `CaseError` for a document that does not have the form of a case."""
    error = jsonschema.exceptions.best_match(_validator().iter_errors(document))
    if error is not None:
        raise CaseError(f"at `{error.json_path}`: {error.message[:500]}")
    for text in _texts(document):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as broken:
            raise CaseError("a lone surrogate stands in a text: spell such bytes in `base64`") from broken
    for step in document["steps"]:
        for one in [step, *step.get("parallel", [])]:
            if one is not step and ("restart" in one or "parallel" in one):
                raise CaseError("a `restart` or `parallel` stands among `parallel` steps: make it a step of its own")
            expected = one.get("expect", {})
            for fault in match.faults({key: value for key, value in expected.items() if key != "content"}):
                raise CaseError(fault)


@functools.cache
def _validator() -> jsonschema.Draft202012Validator:
    schema = json.loads((CORPUS / "schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise CaseError(f"the member `{key}` is given twice: a second one would hide the first")
        members[key] = value
    return members


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for element in value:
            yield from _texts(element)
    elif isinstance(value, dict):
        for key, element in value.items():
            yield key
            yield from _texts(element)
