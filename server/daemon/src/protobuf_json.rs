//! Messages of the contract in the JSON form of Protobuf: names in lowerCamelCase, 64-bit numbers as texts, bytes in
//! base64.

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};

/// A message as JSON, in several lines. `name` is that of its type: `toolfs.v1.ExecuteResponse`.
///
/// Fields that are not set are left out; a number or a boolean that is 0 or false and set is not.
pub(crate) fn text(name: &str, message: &impl Message) -> String {
    let pool = DescriptorPool::decode(toolfs_contract::FILE_DESCRIPTOR_SET)
        .expect("the contract's build script wrote this very descriptor set");
    let descriptor = pool.get_message_by_name(name).expect("the caller names a message of the contract");
    let dynamic = DynamicMessage::decode(descriptor, message.encode_to_vec().as_slice())
        .expect("a message is of its own type");
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::pretty(&mut text);
    dynamic
        .serialize_with_options(&mut serializer, &SerializeOptions::new())
        .expect("times and durations of the contract are within their ranges");
    String::from_utf8(text).expect("JSON is UTF-8")
}

#[cfg(test)]
mod tests {
    use toolfs_client::v1;

    use super::*;

    #[test]
    fn names_and_numbers_are_those_of_protobuf() {
        let response = v1::ExecuteResponse {
            is_error: Some(false),
            outcome: Some(v1::execute_response::Outcome::Write(v1::WriteOutcome {
                path: "/w/f".into(),
                size: Some(0),
                ..Default::default()
            })),
            ..Default::default()
        };
        let json: serde_json::Value =
            serde_json::from_str(&text("toolfs.v1.ExecuteResponse", &response)).unwrap();
        assert_eq!(json["isError"], false);
        assert_eq!(json["write"]["path"], "/w/f");
        assert_eq!(json["write"]["size"], "0");
        assert!(json.get("requestId").is_none());
    }
}
