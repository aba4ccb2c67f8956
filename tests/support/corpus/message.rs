//! Messages of the contract in Protobuf's JSON form, with the names of the `.proto` files.

use std::sync::LazyLock;

use prost::Message;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, SerializeOptions,
};
use serde_json::Value;
use toolfs_contract::FILE_DESCRIPTOR_SET;

use super::matcher;

static POOL: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(FILE_DESCRIPTOR_SET).expect("the contract describes itself"));

fn descriptor(name: &str) -> MessageDescriptor {
    let full_name = format!("toolfs.v1.{name}");
    POOL.get_message_by_name(&full_name).unwrap_or_else(|| panic!("the contract has no `{full_name}`"))
}

/// A message as JSON. What has no presence and holds its default is absent.
pub(crate) fn json(name: &str, message: &impl Message) -> Value {
    let message = DynamicMessage::decode(descriptor(name), message.encode_to_vec().as_slice())
        .expect("the message is of that type");
    let options = SerializeOptions::new().use_proto_field_name(true);
    message
        .serialize_with_options(serde_json::value::Serializer, &options)
        .expect("JSON can hold any message")
}

/// Looks for members and enum values of an expectation that such a message cannot have.
pub(crate) fn check(name: &str, expected: &Value) -> Result<(), String> {
    check_message(&descriptor(name), expected)
}

fn check_message(descriptor: &MessageDescriptor, expected: &Value) -> Result<(), String> {
    let Some(members) = expected.as_object() else {
        return matcher::check(expected);
    };
    if matcher::is_matcher(expected) || descriptor.full_name().starts_with("google.protobuf.") {
        return matcher::check(expected);
    }
    members.iter().try_for_each(|(name, value)| {
        let field = descriptor
            .get_field_by_name(name)
            .ok_or_else(|| format!("`{}` has no `{name}`", descriptor.full_name()))?;
        check_field(&field, value).map_err(|fault| format!("`{name}`: {fault}"))
    })
}

fn check_field(field: &FieldDescriptor, expected: &Value) -> Result<(), String> {
    if expected.is_null() || matcher::is_matcher(expected) {
        return matcher::check(expected);
    }
    if field.is_map() {
        let members = expected.as_object().ok_or("it must be an object")?;
        return members.values().try_for_each(matcher::check);
    }
    if field.is_list() {
        let elements = expected.as_array().ok_or("it must be an array")?;
        return elements.iter().try_for_each(|element| check_value(&field.kind(), element));
    }
    check_value(&field.kind(), expected)
}

fn check_value(kind: &Kind, expected: &Value) -> Result<(), String> {
    match kind {
        Kind::Message(descriptor) if expected.is_object() => check_message(descriptor, expected),
        Kind::Enum(descriptor) => match expected.as_str() {
            Some(name) if descriptor.get_value_by_name(name).is_none() => {
                Err(format!("`{}` has no `{name}`", descriptor.full_name()))
            }
            Some(_) => Ok(()),
            None => matcher::check(expected),
        },
        _ if expected.is_object() => matcher::check(expected),
        Kind::String | Kind::Bytes if !expected.is_string() => Err("it must be a text".to_owned()),
        Kind::Bool if !expected.is_boolean() => Err("it must be true or false".to_owned()),
        _ if expected.is_array() => Err("it is no list".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolfs_client::v1;

    use super::*;

    #[test]
    fn a_zero_that_is_set_shows_and_an_empty_text_does_not() {
        let outcome = v1::ReadOutcome {
            total_lines: Some(0),
            bom: Some(false),
            line_endings: v1::LineEndings::None.into(),
            ..v1::ReadOutcome::default()
        };
        let expected = json!({"total_lines": "0", "bom": false, "line_endings": "LINE_ENDINGS_NONE"});
        assert_eq!(json("ReadOutcome", &outcome), expected);
    }

    #[track_caller]
    fn refused(name: &str, expected: Value, why: &str) {
        let fault = check(name, &expected).unwrap_err();
        assert!(fault.contains(why), "{fault}");
    }

    #[test]
    fn an_expectation_of_what_no_message_has_is_refused() {
        refused("FsError", json!({"codes": "FS_NOT_FOUND"}), "no `codes`");
        refused("FsError", json!({"code": "FS_MISSING"}), "no `FS_MISSING`");
        refused("FsError", json!({"not_found": {"names": null}}), "no `names`");
        refused("FsError", json!({"not_found": {"similar_names": "a"}}), "an array");
        refused("FsError", json!({"message": {"$contain": "x"}}), "$contain");
        refused("FsError", json!({"retryable": "false"}), "true or false");
        refused("ReadOutcome", json!({"notices": [{"kind": "NOTICE_KIND_LOST"}]}), "NOTICE_KIND_LOST");
        refused("ReadOutcome", json!({"path": 5}), "a text");
    }

    #[test]
    fn what_a_message_can_have_is_accepted() {
        for (name, expected) in [
            ("FsError", json!({"code": "FS_NOT_FOUND", "not_found": {"similar_names": ["a"]}, "path": null})),
            ("ReadOutcome", json!({"total_lines": 5, "version": {"$bind": "v1"}, "notices": {"$any": true}})),
            (
                "Session",
                json!({"labels": {"run": "5"}, "create_time": {"$any": true}, "roots": ["/workspace"]}),
            ),
        ] {
            assert_eq!(check(name, &expected), Ok(()), "{expected}");
        }
    }
}
