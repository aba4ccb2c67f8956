"""The parts of a reply that a result is made of.

Kinds of blocks that this package does not know are skipped, as the contract asks.
Where an interface cannot carry a picture, a sentence stands in its place: a model is told what it does not see.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Protocol

from toolfs.v1 import tool_pb2


class ReplyError(Protocol):
    """What a result needs of an error."""

    @property
    def reason(self) -> str:
        """The code as text: ``FS_NOT_FOUND``."""

    @property
    def message(self) -> str:
        """What went wrong."""


class Reply(Protocol):
    """What a result needs of a reply: :class:`toolfs.ModelReply` has it, and so has the message ``ExecuteResponse``."""

    @property
    def content(self) -> Iterable[tool_pb2.ContentBlock]:
        """What the model reads."""

    @property
    def is_error(self) -> bool:
        """Whether the tool refused or failed."""

    @property
    def error(self) -> ReplyError | None:
        """The failure."""

    @property
    def tool_call_id(self) -> str:
        """The model's own identifier of the call; empty when the call was made without one."""


def blocks(reply: Reply) -> Iterator[str | tool_pb2.ImageBlock]:
    """The pieces that a model reads, in order: texts and pictures.

    Empty texts are left out: they say nothing, and some interfaces refuse them.
    A failure without a piece gives its error as text, since a model must hear of it.
    """
    empty = True
    for block in reply.content:
        kind = block.WhichOneof("block")
        if kind == "text" and block.text:
            empty = False
            yield block.text
        elif kind == "image":
            empty = False
            yield block.image
    if empty and reply.is_error and reply.error is not None:
        yield f"{reply.error.reason}: {reply.error.message}"


def text(reply: Reply) -> str:
    """All pieces as one text, with a sentence in the place of a picture."""
    return "\n".join(piece if isinstance(piece, str) else told(piece) for piece in blocks(reply))


def images(reply: Reply) -> list[tool_pb2.ImageBlock]:
    """The pictures."""
    return [piece for piece in blocks(reply) if not isinstance(piece, str)]


def told(image: tool_pb2.ImageBlock) -> str:
    """The sentence in the place of a picture."""
    return f"(an image of type `{image.mime_type}` and {len(image.data)} bytes, which cannot be shown here)"


def base64_of(image: tool_pb2.ImageBlock) -> str:
    """A picture's bytes as base64."""
    return base64.b64encode(image.data).decode("ascii")


def call_id(reply: Reply, id: str | None) -> str:
    """The identifier of the call that a result answers.

    :raises ValueError: there is none: neither an argument, nor one that was sent along with the call.
    """
    found = id if id is not None else reply.tool_call_id
    if not found:
        raise ValueError(
            "the result needs the model's identifier of the call: pass `id`, or make the call with `tool_call_id`"
        )
    return found
