//! What a server tells about itself: its tools, limits, roots and parts.

use toolfs_contract::v1;
use toolfs_core::limit::LimitName;
use toolfs_core::schema::{Hints, ToolDefinition};
use toolfs_policy::GateCapabilities;
use toolfs_provider::capability::{Capabilities, Durability, Root};
use toolfs_tools::{ServerCapabilities, SessionMode};

use super::{count, duration, session};

/// The version of the contract: its crate shares the version of the workspace with this one.
const CONTRACT_VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the transport adds to the executor's own capabilities.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    /// The server's version.
    pub(crate) server_version: String,
    /// The limit that is really enforced.
    pub(crate) max_message_bytes: usize,
}

/// The tools, in the order in which models should see them.
pub(crate) fn list_tools_response(definitions: &[ToolDefinition]) -> v1::ListToolsResponse {
    v1::ListToolsResponse { tools: definitions.iter().map(tool_definition).collect() }
}

fn tool_definition(definition: &ToolDefinition) -> v1::ToolDefinition {
    v1::ToolDefinition {
        name: definition.name.as_str().to_owned(),
        description: definition.description.clone(),
        input_schema_json: definition.input_schema_json.clone(),
        strict_input_schema_json: definition.strict_input_schema_json.clone(),
        prompt_section: definition.prompt_section.clone(),
        hints: Some(hints(definition.hints)),
    }
}

fn hints(hints: Hints) -> v1::ToolHints {
    v1::ToolHints {
        read_only: Some(hints.read_only),
        destructive: Some(hints.destructive),
        idempotent: Some(hints.idempotent),
        concurrency_safe: Some(hints.concurrency_safe),
    }
}

/// Everything that a client must know before it calls.
pub(crate) fn get_capabilities_response(
    capabilities: ServerCapabilities,
    transport: &Transport,
) -> v1::GetCapabilitiesResponse {
    let limits = limits(&capabilities, transport);
    let ServerCapabilities {
        provider,
        gate,
        limits: _,
        session_idle,
        sessions_persistent,
        request_id_window,
    } = capabilities;
    v1::GetCapabilitiesResponse {
        server_version: transport.server_version.clone(),
        contract_version: CONTRACT_VERSION.to_owned(),
        limits,
        roots: provider.roots.iter().map(root).collect(),
        modes: [SessionMode::WorkspaceWrite, SessionMode::ReadOnly]
            .map(|mode| session::mode(mode).into())
            .to_vec(),
        protected_patterns: provider.protected_patterns.clone(),
        durability: durability(provider.durability).into(),
        provider: Some(provider_capabilities(&provider)),
        sessions_persistent: Some(sessions_persistent),
        policy: Some(policy_capabilities(gate.as_ref())),
        session_idle_timeout: session_idle.map(duration),
        request_id_window: Some(duration(request_id_window)),
    }
}

fn limits(capabilities: &ServerCapabilities, transport: &Transport) -> Vec<v1::Limit> {
    let limit = |name: LimitName| {
        let value = match name {
            LimitName::MaxMessageBytes => Some(transport.max_message_bytes as u64),
            LimitName::DefaultLimitLines
            | LimitName::MaxLimitLines
            | LimitName::MaxWindowBytes
            | LimitName::MaxLineChars
            | LimitName::MaxContentBytes
            | LimitName::MaxFileBytes
            | LimitName::MaxReadBytes
            | LimitName::MaxDiffBytes
            | LimitName::MaxPathBytes
            | LimitName::NearMissBytes
            | LimitName::NearMissMs
            | LimitName::MaxSessions
            | LimitName::WriteBehindMs
            | LimitName::MaxRememberedBytes => capabilities.limits.value(name),
        };
        self::limit(name, value)
    };
    LimitName::ALL.map(limit).to_vec()
}

/// A limit with its value, `None` where nothing is limited.
pub(crate) fn limit(name: LimitName, value: Option<u64>) -> v1::Limit {
    v1::Limit { kind: limit_kind(name).into(), name: name.as_str().to_owned(), value: value.map(count) }
}

/// A limit as a kind.
pub(crate) fn limit_kind(name: LimitName) -> v1::LimitKind {
    match name {
        LimitName::DefaultLimitLines => v1::LimitKind::DefaultLimitLines,
        LimitName::MaxLimitLines => v1::LimitKind::MaxLimitLines,
        LimitName::MaxWindowBytes => v1::LimitKind::MaxWindowBytes,
        LimitName::MaxLineChars => v1::LimitKind::MaxLineChars,
        LimitName::MaxContentBytes => v1::LimitKind::MaxContentBytes,
        LimitName::MaxFileBytes => v1::LimitKind::MaxFileBytes,
        LimitName::MaxReadBytes => v1::LimitKind::MaxReadBytes,
        LimitName::MaxDiffBytes => v1::LimitKind::MaxDiffBytes,
        LimitName::MaxMessageBytes => v1::LimitKind::MaxMessageBytes,
        LimitName::MaxPathBytes => v1::LimitKind::MaxPathBytes,
        LimitName::NearMissBytes => v1::LimitKind::NearMissBytes,
        LimitName::NearMissMs => v1::LimitKind::NearMissMs,
        LimitName::MaxSessions => v1::LimitKind::MaxSessions,
        LimitName::WriteBehindMs => v1::LimitKind::WriteBehindMs,
        LimitName::MaxRememberedBytes => v1::LimitKind::MaxRememberedBytes,
    }
}

/// The name of a root is the path under which agents see it: `NAME` where one was given, else the real path.
pub(crate) fn root(root: &Root) -> v1::Root {
    v1::Root {
        name: root.display_path.clone(),
        display_path: root.display_path.clone(),
        raw_path: root.raw_path.clone().into(),
    }
}

/// What a success survives.
pub(crate) fn durability(durability: Durability) -> v1::Durability {
    match durability {
        Durability::Full => v1::Durability::Full,
        Durability::Data => v1::Durability::Data,
        Durability::None => v1::Durability::None,
    }
}

/// The provider and its abilities.
pub(crate) fn provider_capabilities(capabilities: &Capabilities) -> v1::ProviderCapabilities {
    v1::ProviderCapabilities {
        name: capabilities.provider.clone(),
        verified_replacement: Some(capabilities.exchange),
        operation_ids: Some(capabilities.operation_ids),
    }
}

/// The gate, or that there is none.
pub(crate) fn policy_capabilities(gate: Option<&GateCapabilities>) -> v1::PolicyCapabilities {
    match gate {
        Some(gate) => v1::PolicyCapabilities { name: gate.policy.clone(), persistent: Some(gate.persistent) },
        None => v1::PolicyCapabilities { name: "none".to_owned(), persistent: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_spelled_as_its_kind() {
        for name in LimitName::ALL {
            let kind = limit_kind(name).as_str_name().strip_prefix("LIMIT_KIND_").unwrap();
            assert_eq!(kind.to_ascii_lowercase(), name.as_str());
        }
    }
}
