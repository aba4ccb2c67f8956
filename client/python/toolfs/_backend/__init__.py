"""The few things that differ between the two clients: all else is one source.

`aio` and `blocking` offer the same names. `toolfs/_async` uses the first, and `toolfs/_sync`, which is generated from
it, the second.
"""


class OutOfTime(Exception):
    """Something did not come in time."""
