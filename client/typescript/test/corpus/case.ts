/**
 * A case, read from its file.
 *
 * The schema is checked elsewhere; here, a member that this runner does not know fails the case, so that nothing that a
 * case asks for is silently left out.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { isObject, type Json, type JsonObject, parseJson } from "./json.js";
import { faultOf } from "./match.js";

/** One case, as the corpus' README describes it. */
export interface Case {
  /** The path below `cases/` without `.json`. */
  name: string;
  server: string[];
  files: JsonObject;
  steps: JsonObject[];
  disk: JsonObject | undefined;
}

const CASES = fileURLToPath(new URL("../../../corpus/cases", import.meta.url));

const VERBS = ["open", "close", "forget", "resume", "read", "write", "edit", "call", "outside", "restart", "parallel"];
const BESIDE = ["session", "request_id", "tool_call_id", "dry_run", "view", "expect"];
const EXPECTED = ["content", "outcome", "error", "status", "session", "tool_call_id", "dry_run"];

/** Every case, by name. */
export function loadCases(): Case[] {
  const files = readdirSync(CASES, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath ?? entry.path, entry.name)).sort();
  return paths.map((path) => parseCase(relative(CASES, path).replace(/\.json$/, ""), readFileSync(path, "utf8")));
}

/** Reads one case; throws for what is none. */
export function parseCase(name: string, text: string): Case {
  const document = parseJson(text);
  if (!isObject(document) || !Array.isArray(document.steps)) throw new Error(`\`${name}\` is no case`);
  onlyKnown(name, document, ["title", "server", "files", "steps", "disk"]);
  for (const step of document.steps) checkStep(name, step);
  return {
    name,
    server: (document.server ?? []) as string[],
    files: (document.files ?? {}) as JsonObject,
    steps: document.steps as JsonObject[],
    disk: document.disk as JsonObject | undefined,
  };
}

function checkStep(name: string, step: Json): void {
  if (!isObject(step)) throw new Error(`a step of \`${name}\` is no object`);
  onlyKnown(name, step, [...VERBS, ...BESIDE]);
  const verbs = VERBS.filter((verb) => verb in step);
  if (verbs.length !== 1) throw new Error(`a step of \`${name}\` has ${verbs.length} verbs: ${verbs.join(", ")}`);
  for (const together of Array.isArray(step.parallel) ? step.parallel : []) checkStep(name, together);
  if (!isObject(step.expect)) return;
  onlyKnown(name, step.expect, EXPECTED);
  for (const [member, expected] of Object.entries(step.expect)) {
    const fault = member === "content" ? undefined : faultOf(expected);
    if (fault !== undefined) throw new Error(`\`${member}\` in \`${name}\`: ${fault}`);
  }
}

function onlyKnown(name: string, value: JsonObject, known: string[]): void {
  for (const member of Object.keys(value)) {
    if (!known.includes(member)) throw new Error(`\`${name}\` has a member that is not known here: \`${member}\``);
  }
}
