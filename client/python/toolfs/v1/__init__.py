"""The messages and stubs of the contract `toolfs.v1`, generated from `proto/`. Never edited."""
