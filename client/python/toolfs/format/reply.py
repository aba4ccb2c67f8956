"""The parts of a reply that a result is made of.

Where an interface cannot carry a picture, a sentence stands in its place: a model is told what it does not see.
"""

from __future__ import annotations

import base64

from toolfs.content import ContentBlock, ImageBlock, TextBlock
from toolfs.error import ArgumentError
from toolfs.reply import ModelReply


def blocks(reply: ModelReply) -> list[ContentBlock]:
    """The pieces that a model reads, in order.

    Blank texts are left out: they say nothing, and some interfaces refuse them.
    A failure without a piece gives its error as text, since a model must hear of it.
    """
    found = [block for block in reply.content if isinstance(block, ImageBlock) or block.text.strip()]
    if not found and reply.error is not None:
        return [TextBlock(str(reply.error))]
    return found


def text(reply: ModelReply) -> str:
    """All pieces as one text, with a sentence in the place of a picture."""
    return "\n".join(told(block) for block in blocks(reply))


def told(block: ContentBlock) -> str:
    """A piece as text: a sentence where it is a picture."""
    if isinstance(block, TextBlock):
        return block.text
    return f"(a picture that cannot be shown here: {block.mime_type}, {len(block.data)} bytes)"


def images(reply: ModelReply) -> list[ImageBlock]:
    """The pictures."""
    return [block for block in blocks(reply) if isinstance(block, ImageBlock)]


def base64_of(image: ImageBlock) -> str:
    """A picture's bytes as base64."""
    return base64.b64encode(image.data).decode("ascii")


def call_id(reply: ModelReply, id: str | None) -> str:
    """The identifier of the call that a result answers. Raises `ArgumentError` where there is none."""
    found = id or reply.tool_call_id
    if not found:
        raise ArgumentError("id", "is needed, the model's own of the call: give it here, or `tool_call_id` to the call")
    return found
