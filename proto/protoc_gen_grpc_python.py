"""The gRPC generator of grpcio-tools as a plugin of its own, since it exists only inside that package's protoc.

Reads a CodeGeneratorRequest from standard input and writes a CodeGeneratorResponse to standard output.
"""

import pathlib
import sys
import tempfile

from google.protobuf import descriptor_pb2
from google.protobuf.compiler import plugin_pb2
from grpc_tools import protoc


def main() -> None:
    request = plugin_pb2.CodeGeneratorRequest.FromString(sys.stdin.buffer.read())
    response = plugin_pb2.CodeGeneratorResponse(
        supported_features=plugin_pb2.CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL
    )
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        descriptors = folder / "request.binpb"
        descriptors.write_bytes(descriptor_pb2.FileDescriptorSet(file=request.proto_file).SerializeToString())
        out = folder / "out"
        out.mkdir()
        status = protoc.main(
            ["protoc", f"--descriptor_set_in={descriptors}", f"--grpc_python_out={out}", *request.file_to_generate]
        )
        if status != 0:
            response.error = f"protoc ended with status {status}"
        for path in sorted(out.rglob("*.py")):
            response.file.add(name=path.relative_to(out).as_posix(), content=path.read_text(encoding="utf-8"))
    sys.stdout.buffer.write(response.SerializeToString())


if __name__ == "__main__":
    main()
