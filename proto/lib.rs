//! The `toolfs.v1` contract.
//!
//! - [`v1`]: the messages and the gRPC stubs, generated from `proto/toolfs/v1`
//! - [`code`]: the one table of error codes, their spelling and their gRPC codes
//! - [`FILE_DESCRIPTOR_SET`] and [`descriptor_set`]: the contract as data, for gRPC reflection
//!
//! Deliberately absent: any conversion to the types of server or client, and any transport.

pub mod code;
mod redact;

use std::collections::BTreeSet;

use prost::Message as _;
use prost_types::FileDescriptorSet;

/// Messages, clients and servers of the package `toolfs.v1`.
///
/// The `Debug` form of a message that holds a session's secret or the content of files hides them.
#[allow(
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    rust_2018_idioms,
    clippy::all,
    rustdoc::all
)]
pub mod v1 {
    tonic::include_proto!("toolfs.v1");
}

/// The whole contract and what it imports: an encoded `google.protobuf.FileDescriptorSet` without source information.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/toolfs.v1.binpb"));

/// The file that every address tells, whatever it serves: errors travel as details of any status.
const ERROR_FILE: &str = "toolfs/v1/error.proto";

/// The contract cut down to what one address serves: an encoded `google.protobuf.FileDescriptorSet`.
///
/// It has the files of the services named (`toolfs.v1.ToolService`), the file of the errors, and what these import. No
/// other service of the contract is in it. Names of services that are not the contract's are passed over, so that the
/// whole list of an address can be given.
///
/// ```
/// use prost::Message as _;
///
/// let set = toolfs_contract::descriptor_set(&["toolfs.v1.ToolService", "grpc.health.v1.Health"]);
/// let set = prost_types::FileDescriptorSet::decode(set.as_slice()).unwrap();
/// assert!(set.file.iter().all(|file| file.name() != "toolfs/v1/policy.proto"));
/// ```
pub fn descriptor_set(services: &[&str]) -> Vec<u8> {
    let mut set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET)
        .expect("the build script encoded this very descriptor set");

    let mut wanted = BTreeSet::from([ERROR_FILE.to_owned()]);
    for file in &mut set.file {
        let package = file.package().to_owned();
        file.service.retain(|service| services.contains(&format!("{package}.{}", service.name()).as_str()));
        if !file.service.is_empty() {
            wanted.insert(file.name().to_owned());
        }
    }

    // Imports come before the files that import them: one pass backwards finds all of them.
    for file in set.file.iter().rev() {
        if wanted.contains(file.name()) {
            wanted.extend(file.dependency.iter().cloned());
        }
    }
    set.file.retain(|file| wanted.contains(file.name()));
    set.encode_to_vec()
}
