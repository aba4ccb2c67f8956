//! A policy gate that lives in another process, reached over `toolfs.v1.PolicyService`.
