//! A provider that lives in another process, reached over `toolfs.v1.FileSystemService`.
