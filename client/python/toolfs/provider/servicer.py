"""`toolfs.v1.FileSystemService` over a provider: each method decodes, calls and encodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from toolfs.enums import FileKind
from toolfs.provider import decode, encode, upload, value
from toolfs.provider.ending import in_call
from toolfs.provider.patience import patient
from toolfs.provider.provider import Call, Provider
from toolfs.provider.text import PIECE_BYTES, pieces_of
from toolfs.provider.value import Content, Limits
from toolfs.v1 import filesystem_pb2, filesystem_pb2_grpc


class FileSystemServicer(filesystem_pb2_grpc.FileSystemServiceServicer):
    """Serves a provider. Its methods are called from several threads at once.

    A write whose next part does not come within `patience` seconds is given up.
    """

    def __init__(self, provider: Provider, patience: float) -> None:
        self._provider = provider
        self._patience = patience

    def GetProviderCapabilities(self, request: Any, context: Any) -> filesystem_pb2.GetProviderCapabilitiesResponse:
        """Tells what the provider can do."""
        with in_call(context) as call:
            return encode.capabilities(self._provider.capabilities(call))

    def Resolve(self, request: filesystem_pb2.ResolveRequest, context: Any) -> filesystem_pb2.ResolveResponse:
        """Finds where a path lands."""
        with in_call(context) as call:
            target = self._provider.resolve(call, decode.resolve_request(request))
            return filesystem_pb2.ResolveResponse(target=encode.target(target))

    def Contains(self, request: filesystem_pb2.ContainsRequest, context: Any) -> filesystem_pb2.ContainsResponse:
        """Tells whether a target is another one, or lies beneath it."""
        with in_call(context) as call:
            ancestor = decode.target_key(request.ancestor_key, "ancestor_key")
            contained = self._provider.contains(call, ancestor, decode.target_key(request.target_key))
            return filesystem_pb2.ContainsResponse(contained=contained)

    def Stat(self, request: filesystem_pb2.StatRequest, context: Any) -> filesystem_pb2.StatResponse:
        """Describes what is at a target."""
        with in_call(context) as call:
            stat = self._provider.stat(call, decode.target_key(request.target_key), request.want_version)
            return filesystem_pb2.StatResponse(stat=encode.file_stat(stat))

    def Lstat(self, request: filesystem_pb2.LstatRequest, context: Any) -> filesystem_pb2.LstatResponse:
        """Describes what is at a path without following a link at its end."""
        with in_call(context) as call:
            stat = self._provider.lstat(call, decode.resolve_request(request))
            return filesystem_pb2.LstatResponse(stat=encode.file_stat(stat))

    def ReadLines(self, request: filesystem_pb2.ReadLinesRequest, context: Any) -> filesystem_pb2.ReadLinesResponse:
        """Reads a window of raw lines with everything that is known of the file."""
        with in_call(context) as call:
            window = decode.line_window(request, self._limits(call))
            lines = self._provider.read_lines(call, decode.target_key(request.target_key), window)
            return encode.lines(lines, window)

    def ReadText(
        self, request: filesystem_pb2.ReadTextRequest, context: Any
    ) -> Iterator[filesystem_pb2.ReadTextResponse]:
        """Reads a whole text."""
        with in_call(context) as call:
            content = self._provider.read_text(call, decode.target_key(request.target_key))
            for part in _parts(call, content):
                yield filesystem_pb2.ReadTextResponse(**part)

    def ReadBytes(
        self, request: filesystem_pb2.ReadBytesRequest, context: Any
    ) -> Iterator[filesystem_pb2.ReadBytesResponse]:
        """Reads a range of bytes of any file."""
        with in_call(context) as call:
            byte_range = decode.byte_range(request)
            content = self._provider.read_bytes(call, decode.target_key(request.target_key), byte_range)
            for part in _parts(call, content):
                yield filesystem_pb2.ReadBytesResponse(**part)

    def ListDir(self, request: filesystem_pb2.ListDirRequest, context: Any) -> Iterator[filesystem_pb2.ListDirResponse]:
        """Lists a directory."""
        with in_call(context) as call:
            for batch in encode.entries(self._provider.list_dir(call, decode.target_key(request.target_key))):
                call.check()
                yield batch

    def WriteText(
        self, request_iterator: Iterable[filesystem_pb2.WriteTextRequest], context: Any
    ) -> filesystem_pb2.WriteTextResponse:
        """Creates a file, or replaces its content, once all of it has come."""
        with in_call(context) as call:
            report = self._provider.write_text(call, self._received(request_iterator, call))
            return filesystem_pb2.WriteTextResponse(
                report=encode.write_report(report), not_durable=encode.not_durable(report)
            )

    def EditText(self, request: filesystem_pb2.EditTextRequest, context: Any) -> filesystem_pb2.EditTextResponse:
        """Replaces text in a file."""
        with in_call(context) as call:
            report = self._provider.edit_text(call, decode.edit_request(request))
            return filesystem_pb2.EditTextResponse(
                report=encode.edit_report(report), not_durable=encode.not_durable(report)
            )

    def PlanWrite(
        self, request_iterator: Iterable[filesystem_pb2.PlanWriteRequest], context: Any
    ) -> filesystem_pb2.PlanWriteResponse:
        """Decides and reports like `WriteText`, and publishes nothing."""
        with in_call(context) as call:
            report = self._provider.plan_write(call, self._received(request_iterator, call))
            return filesystem_pb2.PlanWriteResponse(report=encode.write_report(report))

    def PlanEdit(self, request: filesystem_pb2.PlanEditRequest, context: Any) -> filesystem_pb2.PlanEditResponse:
        """Decides and reports like `EditText`, and publishes nothing."""
        with in_call(context) as call:
            report = self._provider.plan_edit(call, decode.edit_request(request))
            return filesystem_pb2.PlanEditResponse(report=encode.edit_report(report))

    def _received(self, messages: Iterable[Any], call: Call) -> value.WriteText:
        """The whole write; nothing of it when its caller keeps a thread waiting for too long."""
        parts = patient(messages, self._patience)
        return upload.receive(parts, self._limits(call).max_content_bytes, call.check)

    def _limits(self, call: Call) -> Limits:
        return self._provider.capabilities(call).limits


def _parts(call: Call, content: Content) -> Iterator[dict[str, Any]]:
    """One header, the content in chunks of bounded size, one trailer."""
    kind: Any = int(FileKind.REGULAR)
    yield {"header": filesystem_pb2.ContentHeader(kind=kind, size=content.size)}
    for piece in content.pieces:
        for chunk in pieces_of(piece, PIECE_BYTES):
            call.check()
            yield {"chunk": chunk}
    yield {"trailer": filesystem_pb2.ContentTrailer(version=content.version() or "")}
