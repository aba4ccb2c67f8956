/**
 * A flat JSON Schema as a value: an object of scalars.
 *
 * Reading one is the check that it is flat. A keyword that some model's side would not take (`$ref`, `anyOf`, `format`,
 * `pattern`, lengths) is refused by name, so that no form loses a rule in silence.
 */
import { ToolfsError } from "../error.js";

/** The type of an argument, in the words of JSON Schema. */
export type ScalarType = "string" | "integer" | "number" | "boolean";

/** One argument. */
export type PropertySchema = {
  /** What it holds; the second form is for an argument that may be null. */
  type: ScalarType | [ScalarType, "null"];
  /** What it means, addressed to the model. */
  description: string;
  /** The least number that it may be, inclusive. */
  minimum?: number;
  /** What its absence stands for. */
  default?: string | number | boolean;
};

/**
 * The schema of a tool's arguments: a closed object, since the tools refuse what they do not know. Its properties keep
 * the order in which models should see them.
 */
export type InputSchema = {
  type: "object";
  properties: { [name: string]: PropertySchema };
  required: string[];
  additionalProperties: false;
};

/**
 * A server's definition of a tool that this package cannot put into another form without losing something. It comes from
 * a server that is newer than this package: a newer package knows the form.
 */
export class DefinitionError extends ToolfsError {
  override name = "DefinitionError";
  /** The tool's name. */
  readonly tool: string;

  constructor(tool: string, why: string, cause: unknown) {
    super(`the schema of \`${tool}\` is not flat, and cannot be put into another form: ${why}`, { cause });
    this.tool = tool;
  }
}

/**
 * Reads the schema of a tool.
 *
 * @throws DefinitionError that names what about the schema is not flat
 */
export function parseSchema(tool: string, json: string): InputSchema {
  try {
    return schemaOf(JSON.parse(json));
  } catch (cause) {
    throw new DefinitionError(tool, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

/** The scalar that an argument holds when it is not null. */
export function scalarOf(property: PropertySchema): ScalarType {
  return typeof property.type === "string" ? property.type : property.type[0];
}

/** Whether an argument may be null. */
export function isNullable(property: PropertySchema): boolean {
  return typeof property.type !== "string";
}

function schemaOf(value: unknown): InputSchema {
  const schema = objectOf("the schema", value);
  refuseOthers("the schema", schema, ["type", "properties", "required", "additionalProperties"]);
  if (schema.type !== "object") {
    throw new TypeError("the schema's `type` is not `object`");
  }
  const properties = Object.entries(objectOf("`properties`", schema.properties));
  if (!Array.isArray(schema.required) || !schema.required.every((name) => typeof name === "string")) {
    throw new TypeError("the schema's `required` is not a list of names");
  }
  if (schema.additionalProperties !== false) {
    throw new TypeError("the schema's `additionalProperties` is not false");
  }
  return {
    type: "object",
    properties: Object.fromEntries(properties.map(([name, property]) => [name, propertyOf(name, property)])),
    required: schema.required,
    additionalProperties: false,
  };
}

function propertyOf(name: string, value: unknown): PropertySchema {
  const where = `\`${name}\``;
  const property = objectOf(where, value);
  refuseOthers(where, property, ["type", "description", "minimum", "default"]);
  if (typeof property.description !== "string") {
    throw new TypeError(`${where} has no \`description\``);
  }
  const schema: PropertySchema = { type: typesOf(where, property.type), description: property.description };
  if (property.minimum !== undefined) {
    if (typeof property.minimum !== "number") {
      throw new TypeError(`the \`minimum\` of ${where} is not a number`);
    }
    schema.minimum = property.minimum;
  }
  // A default of null says what its absence says.
  if (property.default !== undefined && property.default !== null) {
    if (!isScalar(property.default)) {
      throw new TypeError(`the \`default\` of ${where} is not a scalar`);
    }
    schema.default = property.default;
  }
  return schema;
}

function typesOf(where: string, value: unknown): PropertySchema["type"] {
  if (isScalarType(value)) {
    return value;
  }
  if (Array.isArray(value) && value.length === 2 && isScalarType(value[0]) && value[1] === "null") {
    return [value[0], "null"];
  }
  throw new TypeError(`the \`type\` of ${where} is neither a scalar nor a scalar that may be null`);
}

function isScalarType(value: unknown): value is ScalarType {
  return value === "string" || value === "integer" || value === "number" || value === "boolean";
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function objectOf(where: string, value: unknown): { [key: string]: unknown } {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError(`${where} is not an object`);
  }
  return value as { [key: string]: unknown };
}

function refuseOthers(where: string, object: { [key: string]: unknown }, known: string[]): void {
  for (const keyword of Object.keys(object)) {
    if (!known.includes(keyword)) {
      throw new TypeError(`${where} has the keyword \`${keyword}\``);
    }
  }
}
