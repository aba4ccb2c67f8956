use clap::ValueEnum as _;
use expect_test::{Expect, expect};
use serde_json::Value;
use toolfs_core::limit::Limits;
use toolfs_core::schema::Hints;

use super::*;

/// A tool with a little of everything.
fn sample() -> Vec<Definition> {
    let loose = r#"{"type":"object","properties":{"path":{"type":"string","description":"A file."},"from":{"type":"integer","description":"A line.","minimum":1,"default":1},"all":{"type":"boolean","description":"All."}},"required":["path"],"additionalProperties":false}"#;
    let strict = r#"{"type":"object","properties":{"path":{"type":"string","description":"A file."},"from":{"type":["integer","null"],"description":"A line."},"all":{"type":["boolean","null"],"description":"All."}},"required":["path","from","all"],"additionalProperties":false}"#;
    vec![Definition {
        name: "show".into(),
        description: "Shows a file.".into(),
        input_schema: serde_json::from_str(loose).unwrap(),
        strict_input_schema: serde_json::from_str(strict).unwrap(),
        prompt_section: "## show\n".into(),
        hints: Hints { read_only: true, destructive: false, idempotent: true, concurrency_safe: false },
    }]
}

fn real() -> Vec<Definition> {
    let definitions = toolfs_core::schema::definitions(&Limits::DEFAULT);
    definitions.iter().map(|tool| Definition::of_core(tool).unwrap()).collect()
}

#[track_caller]
fn check(format: ToolFormat, strict: bool, expected: Expect) {
    expected.assert_eq(&render(&sample(), format, strict));
}

#[test]
fn json_has_both_forms() {
    let both = render(&sample(), ToolFormat::Json, false);
    assert_eq!(both, render(&sample(), ToolFormat::Json, true));
    check(
        ToolFormat::Json,
        false,
        expect![[r###"
        [
          {
            "name": "show",
            "description": "Shows a file.",
            "input_schema": {
              "type": "object",
              "properties": {
                "path": {
                  "type": "string",
                  "description": "A file."
                },
                "from": {
                  "type": "integer",
                  "description": "A line.",
                  "minimum": 1,
                  "default": 1
                },
                "all": {
                  "type": "boolean",
                  "description": "All."
                }
              },
              "required": [
                "path"
              ],
              "additionalProperties": false
            },
            "strict_input_schema": {
              "type": "object",
              "properties": {
                "path": {
                  "type": "string",
                  "description": "A file."
                },
                "from": {
                  "type": [
                    "integer",
                    "null"
                  ],
                  "description": "A line."
                },
                "all": {
                  "type": [
                    "boolean",
                    "null"
                  ],
                  "description": "All."
                }
              },
              "required": [
                "path",
                "from",
                "all"
              ],
              "additionalProperties": false
            },
            "prompt_section": "## show\n",
            "hints": {
              "read_only": true,
              "destructive": false,
              "idempotent": true,
              "concurrency_safe": false
            }
          }
        ]"###]],
    );
}

#[test]
fn anthropic_takes_the_schema_as_it_is() {
    check(
        ToolFormat::Anthropic,
        false,
        expect![[r#"
        [
          {
            "name": "show",
            "description": "Shows a file.",
            "input_schema": {
              "type": "object",
              "properties": {
                "path": {
                  "type": "string",
                  "description": "A file."
                },
                "from": {
                  "type": "integer",
                  "description": "A line.",
                  "minimum": 1,
                  "default": 1
                },
                "all": {
                  "type": "boolean",
                  "description": "All."
                }
              },
              "required": [
                "path"
              ],
              "additionalProperties": false
            }
          }
        ]"#]],
    );
}

#[test]
fn anthropic_is_asked_to_keep_to_a_strict_schema() {
    check(
        ToolFormat::Anthropic,
        true,
        expect![[r#"
        [
          {
            "name": "show",
            "description": "Shows a file.",
            "input_schema": {
              "type": "object",
              "properties": {
                "path": {
                  "type": "string",
                  "description": "A file."
                },
                "from": {
                  "type": [
                    "integer",
                    "null"
                  ],
                  "description": "A line."
                },
                "all": {
                  "type": [
                    "boolean",
                    "null"
                  ],
                  "description": "All."
                }
              },
              "required": [
                "path",
                "from",
                "all"
              ],
              "additionalProperties": false
            },
            "strict": true
          }
        ]"#]],
    );
}

#[test]
fn openai_is_told_whether_a_schema_is_strict() {
    check(
        ToolFormat::OpenAi,
        false,
        expect![[r#"
        [
          {
            "type": "function",
            "name": "show",
            "description": "Shows a file.",
            "parameters": {
              "type": "object",
              "properties": {
                "path": {
                  "type": "string",
                  "description": "A file."
                },
                "from": {
                  "type": "integer",
                  "description": "A line.",
                  "minimum": 1,
                  "default": 1
                },
                "all": {
                  "type": "boolean",
                  "description": "All."
                }
              },
              "required": [
                "path"
              ],
              "additionalProperties": false
            },
            "strict": false
          }
        ]"#]],
    );
}

#[test]
fn openai_chat_has_an_object_of_its_own_for_the_function() {
    check(
        ToolFormat::OpenAiChat,
        true,
        expect![[r#"
        [
          {
            "type": "function",
            "function": {
              "name": "show",
              "description": "Shows a file.",
              "parameters": {
                "type": "object",
                "properties": {
                  "path": {
                    "type": "string",
                    "description": "A file."
                  },
                  "from": {
                    "type": [
                      "integer",
                      "null"
                    ],
                    "description": "A line."
                  },
                  "all": {
                    "type": [
                      "boolean",
                      "null"
                    ],
                    "description": "All."
                  }
                },
                "required": [
                  "path",
                  "from",
                  "all"
                ],
                "additionalProperties": false
              },
              "strict": true
            }
          }
        ]"#]],
    );
}

#[test]
fn gemini_gets_its_own_words_for_types() {
    check(
        ToolFormat::Gemini,
        false,
        expect![[r#"
        [
          {
            "functionDeclarations": [
              {
                "name": "show",
                "description": "Shows a file.",
                "parameters": {
                  "type": "OBJECT",
                  "properties": {
                    "path": {
                      "type": "STRING",
                      "description": "A file."
                    },
                    "from": {
                      "type": "INTEGER",
                      "description": "A line.",
                      "minimum": 1
                    },
                    "all": {
                      "type": "BOOLEAN",
                      "description": "All."
                    }
                  },
                  "required": [
                    "path"
                  ]
                }
              }
            ]
          }
        ]"#]],
    );
}

#[test]
fn gemini_gets_a_keyword_for_what_may_be_null() {
    check(
        ToolFormat::Gemini,
        true,
        expect![[r#"
        [
          {
            "functionDeclarations": [
              {
                "name": "show",
                "description": "Shows a file.",
                "parameters": {
                  "type": "OBJECT",
                  "properties": {
                    "path": {
                      "type": "STRING",
                      "description": "A file."
                    },
                    "from": {
                      "type": "INTEGER",
                      "description": "A line.",
                      "nullable": true
                    },
                    "all": {
                      "type": "BOOLEAN",
                      "description": "All.",
                      "nullable": true
                    }
                  },
                  "required": [
                    "path",
                    "from",
                    "all"
                  ]
                }
              }
            ]
          }
        ]"#]],
    );
}

#[test]
fn mcp_gets_annotations() {
    check(
        ToolFormat::Mcp,
        false,
        expect![[r#"
        {
          "tools": [
            {
              "name": "show",
              "description": "Shows a file.",
              "inputSchema": {
                "type": "object",
                "properties": {
                  "path": {
                    "type": "string",
                    "description": "A file."
                  },
                  "from": {
                    "type": "integer",
                    "description": "A line.",
                    "minimum": 1,
                    "default": 1
                  },
                  "all": {
                    "type": "boolean",
                    "description": "All."
                  }
                },
                "required": [
                  "path"
                ],
                "additionalProperties": false
              },
              "annotations": {
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": true,
                "openWorldHint": false
              }
            }
          ]
        }"#]],
    );
}

/// Where the schema of each tool is in each format.
fn schemas(format: ToolFormat, rendered: &Value) -> Vec<Value> {
    let tools = match format {
        ToolFormat::Gemini => &rendered[0]["functionDeclarations"],
        ToolFormat::Mcp => &rendered["tools"],
        ToolFormat::Json | ToolFormat::Anthropic | ToolFormat::OpenAi | ToolFormat::OpenAiChat => rendered,
    };
    let schema = |tool: &Value| match format {
        ToolFormat::Json | ToolFormat::Anthropic => tool["input_schema"].clone(),
        ToolFormat::OpenAi | ToolFormat::Gemini => tool["parameters"].clone(),
        ToolFormat::OpenAiChat => tool["function"]["parameters"].clone(),
        ToolFormat::Mcp => tool["inputSchema"].clone(),
    };
    tools.as_array().unwrap().iter().map(schema).collect()
}

#[test]
fn the_schemas_of_all_tools_are_flat_in_every_format() {
    for format in ToolFormat::value_variants() {
        for strict in [false, true] {
            let rendered: Value = serde_json::from_str(&render(&real(), *format, strict)).unwrap();
            let schemas = schemas(*format, &rendered);
            assert_eq!(schemas.len(), 3);
            for schema in schemas {
                assert_eq!(schema["type"].as_str().unwrap().to_lowercase(), "object");
                let properties = schema["properties"].as_object().unwrap();
                assert!(!properties.is_empty());
                for (name, property) in properties {
                    let scalars = property.as_object().unwrap().values().all(|value| match value {
                        Value::Array(types) => types.iter().all(Value::is_string),
                        other => !other.is_object(),
                    });
                    assert!(scalars, "{format:?} {name}: {property}");
                    for keyword in property.as_object().unwrap().keys() {
                        let known = ["type", "description", "minimum", "default", "nullable"];
                        assert!(known.contains(&keyword.as_str()), "{format:?} {name}: {keyword}");
                    }
                }
                let required = schema["required"].as_array().unwrap();
                assert!(required.iter().all(|name| properties.contains_key(name.as_str().unwrap())));
                if strict && *format != ToolFormat::Json {
                    assert_eq!(required.len(), properties.len());
                }
            }
        }
    }
}

#[test]
fn properties_keep_the_order_in_which_models_should_see_them() {
    for format in ToolFormat::value_variants() {
        let text = render(&real(), *format, false);
        let order = ["\"file_path\"", "\"old_string\"", "\"new_string\"", "\"replace_all\""].map(|name| {
            // The last tool is the one that has all of them.
            let edit = text.rfind("old_string\": {").unwrap();
            let start = text[..edit].rfind("\"properties\"").unwrap();
            start + text[start..].find(name).unwrap()
        });
        assert!(order.is_sorted(), "{format:?}: {order:?}");
    }
}

#[test]
fn a_schema_that_is_not_flat_is_refused_by_the_tool_and_the_keyword() {
    for (schema, keyword) in [
        (
            r#"{"type":"object","properties":{"a":{"type":"string","description":"","pattern":"x"}},"required":[],"additionalProperties":false}"#,
            "pattern",
        ),
        (
            r##"{"type":"object","properties":{"a":{"$ref":"#/b"}},"required":[],"additionalProperties":false}"##,
            "$ref",
        ),
        (
            r#"{"type":"object","properties":{},"required":[],"additionalProperties":false,"anyOf":[]}"#,
            "anyOf",
        ),
        (r#"{"type":"array","properties":{},"required":[],"additionalProperties":false}"#, "array"),
    ] {
        let wire = toolfs_client::v1::ToolDefinition {
            name: "newer".into(),
            input_schema_json: schema.into(),
            strict_input_schema_json: schema.into(),
            ..Default::default()
        };
        let told = Definition::of_wire(&wire).unwrap_err().to_string();
        assert!(told.contains("`newer`") && told.contains(keyword), "{told}");
    }
}
