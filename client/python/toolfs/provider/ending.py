"""How a call of the service begins and ends: what its caller's leaving means, and how errors become statuses."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from toolfs.enums import AbortCause
from toolfs.provider import refusal, status
from toolfs.provider.error import CallRefused, FsError
from toolfs.provider.provider import Call

_LOG = logging.getLogger("toolfs.provider")

_DETAILS_KEY = "grpc-status-details-bin"


@contextmanager
def in_call(context: Any) -> Iterator[Call]:
    """One call. What is raised in it ends it with the status of the contract; a mistake is logged here, once."""
    call = Call(context.time_remaining)
    # Within an event loop nothing is answered to that, and cancelling is noticed by the deadline only.
    if context.add_callback(call.end) is False:
        call.end()
    try:
        yield call
    except FsError as error:
        _abort(context, status.of_fs_error(error))
    except CallRefused as refused:
        _abort(context, status.of_refused(refused))
    except GeneratorExit:
        # The caller left in the middle of a stream.
        raise
    except BaseException:
        # Also what would end a program: here it would end a thread, and leave the caller without an answer.
        if call.has_ended:
            # What broke is the connection to a caller that left; nobody is there to be told.
            _abort(context, status.of_fs_error(refusal.aborted(AbortCause.CANCELLED)))
        _LOG.exception("a call failed by a mistake of the provider or gate")
        _abort(context, status.of_mistake())


def _abort(context: Any, ended: status.Status) -> None:
    context.set_trailing_metadata(((_DETAILS_KEY, ended.details),))
    context.abort(ended.code, ended.message)
