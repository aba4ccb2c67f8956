//! Reflection, in both of its versions: exactly what is served, the errors, and what these import.

use prost::Message as _;
use prost_types::FileDescriptorSet;
use tonic::server::NamedService;
use tonic_reflection::pb::{v1, v1alpha};
use tonic_reflection::server::Builder;
use tonic_reflection::server::v1::{ServerReflection, ServerReflectionServer};
use tonic_reflection::server::v1alpha::{
    ServerReflection as ServerReflectionAlpha, ServerReflectionServer as ServerReflectionServerAlpha,
};

/// Both services of reflection, for an address that serves the services named, health and reflection.
///
/// # Errors
/// When a descriptor set is none.
pub(crate) fn services(
    served: &[&str],
) -> Result<
    (ServerReflectionServer<impl ServerReflection>, ServerReflectionServerAlpha<impl ServerReflectionAlpha>),
    tonic_reflection::server::Error,
> {
    let contract = FileDescriptorSet::decode(toolfs_contract::descriptor_set(served).as_slice())?;
    Ok((builder(contract.clone()).build_v1()?, builder(contract).build_v1alpha()?))
}

/// Each version tells of both: a client may ask in either.
fn builder(contract: FileDescriptorSet) -> Builder<'static> {
    Builder::configure()
        .include_reflection_service(false)
        .register_file_descriptor_set(contract)
        .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(v1::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(v1alpha::FILE_DESCRIPTOR_SET)
}

/// The name under which a service is served.
pub(crate) fn name_of<S: NamedService>(_service: &S) -> &'static str {
    S::NAME
}
