/**
 * Google's Gemini API, whose schemas are a subset of OpenAPI's: types are words of an enum in capitals, what may be null
 * says so by a keyword, and nothing closes an object.
 */
import { type Answer, base64Of, blocksOf, textOf } from "./content.js";
import { type Definition, schemaIn } from "./definition.js";
import { type InputSchema, isNullable, type PropertySchema, type ScalarType, scalarOf } from "./schema.js";

// TypeScript takes two enums for one type where their names and members agree. So this one has the name of the SDK's:
// a mere string would not be assignable to it.
enum Type {
  STRING = "STRING",
  NUMBER = "NUMBER",
  INTEGER = "INTEGER",
  BOOLEAN = "BOOLEAN",
  OBJECT = "OBJECT",
}

/** The types of a schema. */
export { Type as GeminiType };

/** One argument. */
export type GeminiProperty = { type: Type; description: string; nullable?: true; minimum?: number };

/** A function that the model may call. */
export type GeminiFunction = {
  name: string;
  description: string;
  parameters: { type: Type.OBJECT; properties: { [name: string]: GeminiProperty }; required: string[] };
};

/** One of `config.tools` of a request: it declares all functions. */
export type GeminiTool = { functionDeclarations: GeminiFunction[] };

/** A part of the content that answers the model's calls. `id` is there where the model named its call. */
export type GeminiToolResult = {
  functionResponse: {
    id?: string;
    name: string;
    response: { output: string } | { error: string };
    parts?: { inlineData: { mimeType: string; data: string } }[];
  };
};

/** The definitions: a list of one tool. */
export function geminiTools(tools: readonly Definition[], strict: boolean): GeminiTool[] {
  const functionDeclarations = tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    parameters: parametersOf(schemaIn(tool, strict)),
  }));
  return [{ functionDeclarations }];
}

/** The answer to a call of the tool `name`. Pictures are parts beside the text. */
export function geminiResult(answer: Answer, name: string, id: string | undefined): GeminiToolResult {
  const blocks = blocksOf(answer);
  const text = textOf(blocks.filter((block) => block.type === "text"));
  const parts = blocks
    .filter((block) => block.type === "image")
    .map((block) => ({ inlineData: { mimeType: block.mimeType, data: base64Of(block) } }));
  return {
    functionResponse: {
      ...(id === undefined ? {} : { id }),
      name,
      response: answer.isError ? { error: text } : { output: text },
      ...(parts.length === 0 ? {} : { parts }),
    },
  };
}

const TYPES: { readonly [scalar in ScalarType]: Type } = {
  string: Type.STRING,
  number: Type.NUMBER,
  integer: Type.INTEGER,
  boolean: Type.BOOLEAN,
};

function parametersOf(schema: InputSchema): GeminiFunction["parameters"] {
  const properties = Object.entries(schema.properties).map(([name, property]) => [name, propertyOf(property)]);
  return { type: Type.OBJECT, properties: Object.fromEntries(properties), required: schema.required };
}

function propertyOf(property: PropertySchema): GeminiProperty {
  return {
    type: TYPES[scalarOf(property)],
    description: property.description,
    ...(isNullable(property) ? { nullable: true as const } : {}),
    ...(property.minimum === undefined ? {} : { minimum: property.minimum }),
  };
}
