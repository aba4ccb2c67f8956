"""The client: the one source of both. `toolfs/_sync` is generated from here by `tools/generate_sync.py`."""
