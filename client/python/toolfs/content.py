"""What a model reads: blocks of text, and one day of pictures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from toolfs.v1 import tool_pb2


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Text for the model."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """A picture for the model. No tool sends one yet."""

    mime_type: str
    """Its media type: `image/png`."""
    data: bytes = field(repr=False)


ContentBlock = TextBlock | ImageBlock
"""A piece of what a model reads."""


def decode_content(blocks: Iterable[tool_pb2.ContentBlock]) -> tuple[ContentBlock, ...]:
    """The blocks of an answer. Kinds that this package does not know are left out, as the contract has it."""
    content: list[ContentBlock] = []
    for block in blocks:
        arm = block.WhichOneof("block")
        if arm == "text":
            content.append(TextBlock(block.text))
        elif arm == "image":
            content.append(ImageBlock(block.image.mime_type, block.image.data))
    return tuple(content)


def text_of(content: Iterable[ContentBlock]) -> str:
    """The texts of all blocks, one after another, each on a line of its own."""
    return "\n".join(block.text for block in content if isinstance(block, TextBlock))
