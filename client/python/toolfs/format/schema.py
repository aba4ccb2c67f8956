"""A flat JSON Schema: an object of scalars.

Reading one is the check that it is flat.
A keyword that some model's side would not take (`$ref`, `anyOf`, `format`, `pattern`, lengths) is refused by
name, since leaving it out would tell a model less than the server meant.
"""

from __future__ import annotations

import json
from typing import Literal, TypedDict, cast

Scalar = Literal["string", "integer", "number", "boolean"]
"""The type of an argument."""

SCALARS: tuple[str, ...] = ("string", "integer", "number", "boolean")
_SCHEMA_KEYWORDS = ("type", "properties", "required", "additionalProperties")
_PROPERTY_KEYWORDS = ("type", "description", "minimum", "default")


class _PropertyAlways(TypedDict):
    type: Scalar | list[str]
    description: str


class Property(_PropertyAlways, total=False):
    """One argument.

    `type` is a scalar, or a list of a scalar and `null` where the argument may be null.
    """

    minimum: int | float
    default: object


class Schema(TypedDict):
    """The schema of a tool's arguments. Its properties keep the order in which models should see them."""

    type: Literal["object"]
    properties: dict[str, Property]
    required: list[str]
    additionalProperties: bool


class NotFlat(ValueError):
    """A schema that cannot be put into every form without losing something."""


def parse(text: str) -> Schema:
    """Reads a schema from JSON text.

    Raises `NotFlat` for what is no JSON, not an object of scalars, or has a keyword that not every form has.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise NotFlat(f"it is no JSON: {error}") from None
    schema = _object(value, "the schema", _SCHEMA_KEYWORDS, required=_SCHEMA_KEYWORDS)
    if schema["type"] != "object":
        raise NotFlat(f"its type is `{schema['type']}`, not `object`")
    properties = schema["properties"]
    if not isinstance(properties, dict):
        raise NotFlat("`properties` is no object")
    required = schema["required"]
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise NotFlat("`required` is no list of names")
    if not isinstance(schema["additionalProperties"], bool):
        raise NotFlat("`additionalProperties` is neither true nor false")
    return Schema(
        type="object",
        properties={name: _property(name, value) for name, value in properties.items()},
        required=required,
        additionalProperties=schema["additionalProperties"],
    )


def scalar(property: Property) -> Scalar:
    """The type of an argument that is not null."""
    types = property["type"]
    return cast(Scalar, types[0]) if isinstance(types, list) else types


def is_nullable(property: Property) -> bool:
    """Whether an argument may be null."""
    return isinstance(property["type"], list)


def _property(name: str, value: object) -> Property:
    found = _object(value, f"`{name}`", _PROPERTY_KEYWORDS, required=("type", "description"))
    types = found["type"]
    one = isinstance(types, str) and types in SCALARS
    nullable = isinstance(types, list) and len(types) == 2 and types[0] in SCALARS and types[1] == "null"
    if not one and not nullable:
        raise NotFlat(f"the type of `{name}` is {json.dumps(types)}, neither a scalar nor a scalar that may be null")
    if not isinstance(found["description"], str):
        raise NotFlat(f"the description of `{name}` is no text")
    # In the order of the keywords, so that every form shows them in the same one.
    return cast(Property, {keyword: found[keyword] for keyword in _PROPERTY_KEYWORDS if keyword in found})


def _object(value: object, what: str, known: tuple[str, ...], *, required: tuple[str, ...]) -> dict[str, object]:
    if not isinstance(value, dict):
        raise NotFlat(f"{what} is no object")
    for keyword in value:
        if keyword not in known:
            raise NotFlat(f"{what} has the keyword `{keyword}`, which not every form has")
    for keyword in required:
        if keyword not in value:
            raise NotFlat(f"{what} has no `{keyword}`")
    return value
