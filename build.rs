//! Compiles `proto/toolfs/v1/*.proto` to messages, gRPC stubs and a descriptor set in `OUT_DIR`.
//!
//! protox parses the files, so that no `protoc` has to be installed. Nothing else happens here.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message as _;

/// The files of the contract, relative to `proto/`.
const FILES: [&str; 7] = [
    "toolfs/v1/types.proto",
    "toolfs/v1/error.proto",
    "toolfs/v1/tool.proto",
    "toolfs/v1/session.proto",
    "toolfs/v1/event.proto",
    "toolfs/v1/filesystem.proto",
    "toolfs/v1/policy.proto",
];

/// Messages that hold a secret or content. Their `Debug` is written by hand, in `proto/redact.rs`.
const REDACTED: [&str; 22] = [
    ".toolfs.v1.CloseSessionRequest",
    ".toolfs.v1.ContentBlock",
    ".toolfs.v1.Diff",
    ".toolfs.v1.DiffLine",
    ".toolfs.v1.EditCall",
    ".toolfs.v1.EditTextRequest",
    ".toolfs.v1.ExecuteRequest",
    ".toolfs.v1.ForgetObservationsRequest",
    ".toolfs.v1.GetSessionRequest",
    ".toolfs.v1.ImageBlock",
    ".toolfs.v1.JsonCall",
    ".toolfs.v1.NearMiss",
    ".toolfs.v1.OpenSessionResponse",
    ".toolfs.v1.PlanEditRequest",
    ".toolfs.v1.PlanWriteRequest",
    ".toolfs.v1.RawLine",
    ".toolfs.v1.ReadBytesResponse",
    ".toolfs.v1.ReadLine",
    ".toolfs.v1.ReadTextResponse",
    ".toolfs.v1.WatchRequest",
    ".toolfs.v1.WriteCall",
    ".toolfs.v1.WriteTextRequest",
];

#[expect(
    clippy::disallowed_methods,
    reason = "a build script is told where to write by its environment, and writes there"
)]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto/toolfs");

    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.include_imports(true).include_source_info(true);
    compiler.open_files(FILES)?;
    let files = compiler.file_descriptor_set();

    let mut bare = files.clone();
    for file in &mut bare.file {
        file.source_code_info = None;
    }
    let out_dir = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out_dir.join("toolfs.v1.binpb"), bare.encode_to_vec())?;

    tonic_prost_build::configure()
        .build_transport(false)
        .bytes(".toolfs.v1")
        .skip_debug(REDACTED)
        .compile_fds(files)?;
    Ok(())
}
