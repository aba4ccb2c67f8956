"""The Python client of toolfs: file tools for language-model agents, over gRPC."""
