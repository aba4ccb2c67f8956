import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { ToolDefinitionSchema } from "../../src/gen/toolfs/v1/tool_pb.js";
import { DefinitionError, promptOf, type ToolFormat, toolDefinitions } from "../../src/index.js";
import { definitions, printedTools } from "./printed.js";

const FORMATS: ToolFormat[] = ["json", "anthropic", "openai", "openai-chat", "gemini", "mcp"];

describe("definitions differ from what the command prints", () => {
  const tools = definitions();
  for (const format of FORMATS) {
    for (const strict of [false, true]) {
      test(`${format}${strict ? ", strict" : ""}`, () => {
        const made = JSON.stringify(toolDefinitions(tools, format, { strict }), null, 2);
        // As text: the order of the keys is what a model sees.
        assert.equal(`${made}\n`, printedTools(format, ...(strict ? ["--strict"] : [])));
      });
    }
  }

  test("a caller who says nothing gets strict schemas", () => {
    for (const format of FORMATS) {
      assert.deepEqual(toolDefinitions(tools, format), toolDefinitions(tools, format, { strict: false }));
    }
  });
});

/** A tool with a little of everything, and what is said in place of it. */
function sample(change: { schema?: string; hints?: undefined } = {}) {
  const schema = change.schema ?? schemaOf('{"type":"string","description":"A file."}');
  return create(ToolDefinitionSchema, {
    name: "show",
    description: "Shows a file.",
    inputSchemaJson: schema,
    strictInputSchemaJson: schemaOf('{"type":["number","null"],"description":"A number."}'),
    promptSection: "## show\n",
  });
}

function schemaOf(property: string, more = ""): string {
  return `{"type":"object","properties":{"path":${property}},"required":["path"],"additionalProperties":false${more}}`;
}

test("a hint that a server does not tell is taken for a promise", () => {
  const [tool] = toolDefinitions([sample()], "json");
  assert.deepEqual(tool?.hints, {
    read_only: false,
    destructive: true,
    idempotent: false,
    concurrency_safe: false,
  });
});

test("a default is lost", () => {
  const schema = schemaOf('{"type":"integer","description":"A line.","minimum":1,"default":7}');
  const [tool] = toolDefinitions([sample({ schema })], "anthropic");
  assert.equal(tool && JSON.stringify(tool.input_schema), schema);
});

test("a default of null is told as one", () => {
  const schema = schemaOf('{"type":"integer","description":"A line.","default":null}');
  const [tool] = toolDefinitions([sample({ schema })], "anthropic");
  assert.deepEqual(tool?.input_schema.properties.path, { type: "integer", description: "A line." });
});

test("an argument named like a part of every object is lost", () => {
  const schema = schemaOf('{"type":"string","description":""}').replaceAll('"path"', '"__proto__"');
  const [tool] = toolDefinitions([sample({ schema })], "anthropic");
  assert.equal(tool && JSON.stringify(tool.input_schema), schema);
  const [gemini] = toolDefinitions([sample({ schema })], "gemini");
  assert.deepEqual(Object.keys(gemini?.functionDeclarations[0]?.parameters.properties ?? {}), ["__proto__"]);
});

test("gemini gets a scalar that may be null as a list of types", () => {
  const [gemini] = toolDefinitions([sample()], "gemini", { strict: true });
  assert.deepEqual(gemini?.functionDeclarations[0]?.parameters.properties, {
    path: { type: "NUMBER", description: "A number.", nullable: true },
  });
});

describe("a schema that is not flat goes on in another meaning", () => {
  const cases: [schema: string, word: string][] = [
    ["{", "JSON"],
    ["[]", "not an object"],
    ['"object"', "not an object"],
    [schemaOf('{"type":"string","description":"","pattern":"x"}'), "`pattern`"],
    [schemaOf('{"type":"object","description":""}'), "`type` of `path`"],
    [schemaOf('{"type":["string","integer"],"description":""}'), "`type` of `path`"],
    [schemaOf('{"type":["string"],"description":""}'), "`type` of `path`"],
    [schemaOf('{"type":["null","null"],"description":""}'), "`type` of `path`"],
    [schemaOf('{"type":"string"}'), "`description`"],
    [schemaOf('{"type":"integer","description":"","minimum":"1"}'), "`minimum`"],
    [schemaOf('{"type":"integer","description":"","default":[1]}'), "`default`"],
    [schemaOf('{"$ref":"#"}'), "`$ref`"],
    [schemaOf("true"), "`path` is not an object"],
    [schemaOf('{"type":"string","description":""}', ',"anyOf":[]'), "`anyOf`"],
    ['{"type":"array","properties":{},"required":[],"additionalProperties":false}', "`object`"],
    ['{"type":"object","properties":{},"required":[1],"additionalProperties":false}', "`required`"],
    ['{"type":"object","properties":{},"required":[]}', "`additionalProperties`"],
    ['{"type":"object","properties":{},"required":[],"additionalProperties":true}', "`additionalProperties`"],
    ['{"type":"object","required":[],"additionalProperties":false}', "`properties`"],
  ];
  for (const [schema, word] of cases) {
    test(schema, () => {
      assert.throws(
        () => toolDefinitions([sample({ schema })], "mcp"),
        (error) => error instanceof DefinitionError && error.tool === "show" && error.message.includes(word),
      );
    });
  }
});

test("an unknown format is taken for another", () => {
  for (const format of ["yaml", "toString", "constructor"]) {
    const refusal = { name: "ArgumentError", field: "format", message: /`openai-chat`/ };
    assert.throws(() => toolDefinitions([], format as ToolFormat), refusal);
  }
});

test("the sections of the prompt run into each other", () => {
  const tools = definitions();
  const sections = tools.map((tool) => tool.promptSection);
  assert.equal(promptOf(tools), sections.join("\n"));
  assert.match(promptOf(tools), /\n\n## write\n\n/);
  assert.equal(promptOf([]), "");
});
