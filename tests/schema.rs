//! The tools as models are told of them, over the wire.

use serde_json::{Value, json};

use crate::support::{Place, Policy, Setup, World};

struct Tool {
    name: String,
    description: String,
    prompt_section: String,
    loose: Value,
    strict: Value,
    hints: (bool, bool, bool, bool),
}

async fn tools() -> Vec<Tool> {
    let world = World::new(Setup::Binary, Place::Memory, Policy::Observation).await;
    let listed = world.client().tools().await.unwrap();
    let parsed = listed.into_iter().map(|tool| {
        let hints = tool.hints.unwrap();
        Tool {
            loose: serde_json::from_str(&tool.input_schema_json).unwrap(),
            strict: serde_json::from_str(&tool.strict_input_schema_json).unwrap(),
            name: tool.name,
            description: tool.description,
            prompt_section: tool.prompt_section,
            hints: (
                hints.read_only.unwrap(),
                hints.destructive.unwrap(),
                hints.idempotent.unwrap(),
                hints.concurrency_safe.unwrap(),
            ),
        }
    });
    parsed.collect()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

fn names(schema: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn all_tools_are_listed_with_what_they_take() {
    let tools = tools().await;
    let shapes: Vec<_> = tools
        .iter()
        .map(|tool| (tool.name.as_str(), names(&tool.loose), texts(&tool.loose["required"])))
        .collect();
    let edit = vec!["file_path", "new_string", "old_string", "replace_all"];
    assert_eq!(
        shapes,
        [
            ("read", vec!["file_path", "limit", "offset"], vec!["file_path"]),
            ("write", vec!["content", "file_path"], vec!["file_path", "content"]),
            ("edit", edit, vec!["file_path", "old_string", "new_string"]),
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn types_defaults_and_ranges_are_told() {
    let tools = tools().await;
    let [read, write, edit] = tools.as_slice() else { panic!("there are three tools") };
    for argument in ["offset", "limit"] {
        let property = &read.loose["properties"][argument];
        assert_eq!((&property["type"], &property["minimum"]), (&json!("integer"), &json!(1)), "{argument}");
    }
    assert_eq!(write.loose["properties"]["content"]["type"], "string");
    assert_eq!(edit.loose["properties"]["replace_all"]["type"], "boolean");
    assert_eq!(edit.loose["properties"]["replace_all"]["default"], false);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn schemas_are_flat_and_closed_in_both_forms() {
    for tool in tools().await {
        for schema in [&tool.loose, &tool.strict] {
            assert_eq!(schema["type"], "object", "{}", tool.name);
            assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
            let text = schema.to_string();
            for keyword in ["$ref", "anyOf", "oneOf", "allOf", "format", "pattern", "minLength", "maxLength"]
            {
                assert!(!text.contains(&format!("{keyword:?}:")), "{} has {keyword}", tool.name);
            }
            for (name, property) in schema["properties"].as_object().unwrap() {
                assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
                assert!(property["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
            }
        }
        // Strict: everything is required, and what is optional may be null.
        let mut required = texts(&tool.strict["required"]);
        required.sort_unstable();
        assert_eq!(required, names(&tool.strict));
        assert_eq!(names(&tool.strict), names(&tool.loose));
        let optional = |name: &str| !texts(&tool.loose["required"]).contains(&name);
        for (name, property) in tool.strict["properties"].as_object().unwrap() {
            let nullable = property["type"].as_array().is_some_and(|types| types.contains(&json!("null")));
            assert_eq!(nullable, optional(name), "{}: {name}", tool.name);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn descriptions_and_prompt_sections_speak_of_what_must_have_been_read() {
    for tool in tools().await {
        assert!(tool.description.contains("must have been read"), "{}: {}", tool.name, tool.description);
        assert!(tool.description.contains("new file need not be"), "{}: {}", tool.name, tool.description);
        assert!(tool.prompt_section.starts_with(&format!("## {}\n", tool.name)), "{}", tool.prompt_section);
        // Limits in force stand in the text, not their names.
        for text in [&tool.description, &tool.prompt_section] {
            assert!(!text.contains('{'), "{text}");
        }
        if tool.name != "read" {
            assert!(tool.prompt_section.contains("FS_STALE_VERSION"), "{}", tool.prompt_section);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn hints_say_what_a_host_may_assume() {
    for tool in tools().await {
        let (read_only, destructive, idempotent, _) = tool.hints;
        match tool.name.as_str() {
            "read" => assert_eq!((read_only, destructive, idempotent), (true, false, true)),
            _ => assert_eq!((read_only, destructive), (false, true), "{}", tool.name),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_the_schema_of_edit_cannot_say_is_refused_by_the_call() {
    let world = World::new(Setup::Binary, Place::Memory, Policy::Observation).await;
    let agent = world.agent().await;
    agent.write("f", "x\n").await.ok();
    let answer = agent.json("edit", r#"{"file_path": "f", "old_string": "", "new_string": "y"}"#).await;
    assert_eq!(answer.refused("FS_INVALID_ARGUMENT").get("field"), "old_string");
    // The strict form sends every argument, with null for what is left out.
    let strict = r#"{"file_path": "f", "old_string": "x", "new_string": "y", "replace_all": null}"#;
    agent.json("edit", strict).await.ok();
    world.expect("f", "y\n").await;
}
