/** What comes back. */
import { inspect } from "node:util";
import { type ContentBlock, textOf } from "./content.js";
import { ProtocolError, ToolError } from "./error.js";
import { type ResultFormat, type ResultForms, type ResultOptions, toolResult } from "./format/result.js";
import type { EditOutcome, ExecuteResponse, ReadOutcome, WriteOutcome } from "./gen/toolfs/v1/tool_pb.js";
import { type Plain, toPlain } from "./plain.js";

/** The outcomes of the tools, by the tool's name. */
export interface Outcomes {
  read: Plain<ReadOutcome>;
  write: Plain<WriteOutcome>;
  edit: Plain<EditOutcome>;
}

/** What a call did or saw: `{case: "read", value: …}`. */
export type Outcome = { [Tool in keyof Outcomes]: { case: Tool; value: Outcomes[Tool] } }[keyof Outcomes];

/** What every answer has. */
abstract class Answer {
  /** The message of the contract, with 64-bit integers as `bigint`. */
  readonly response: ExecuteResponse;
  #content: ContentBlock[] | undefined;

  constructor(response: ExecuteResponse) {
    this.response = response;
  }

  /** What the model reads. A kind of block that this client does not know is left out. */
  get content(): readonly ContentBlock[] {
    this.#content ??= contentOf(this.response);
    return this.#content;
  }

  /** The text that the model reads: that of all blocks, joined by newlines. */
  get text(): string {
    return textOf(this.content);
  }

  /** Whether it was a dry run. */
  get dryRun(): boolean {
    return this.response.dryRun ?? false;
  }

  /** The name of the logical call. */
  get requestId(): string {
    return this.response.requestId;
  }

  /** The model's own id of the call, as it was given. */
  get toolCallId(): string {
    return this.response.toolCallId;
  }

  /** A plain object, for logs: without the message of the contract, whose integers JSON does not take. */
  abstract toJSON(): object;

  /** What `console.log` shows. */
  [inspect.custom](): object {
    return this.toJSON();
  }
}

/** The success of a typed call. */
export class ToolResult<Tool extends keyof Outcomes> extends Answer {
  readonly #tool: Tool;
  #outcome: Outcomes[Tool] | undefined;

  /** Use {@link decode}. */
  constructor(response: ExecuteResponse, tool: Tool) {
    super(response);
    this.#tool = tool;
  }

  /**
   * What the call did or saw.
   *
   * @throws RangeError for an integer that a number cannot hold exactly; `response` has it.
   */
  get outcome(): Outcomes[Tool] {
    this.#outcome ??= toPlain(this.response.outcome.value) as Outcomes[Tool];
    return this.#outcome;
  }

  override toJSON(): object {
    const { content, outcome, dryRun, requestId, toolCallId } = this;
    return { tool: this.#tool, content, outcome, dryRun, requestId, toolCallId };
  }
}

/** What `session.read` returns. */
export type ReadResult = ToolResult<"read">;
/** What `session.write` returns. */
export type WriteResult = ToolResult<"write">;
/** What `session.edit` returns. */
export type EditResult = ToolResult<"edit">;

/** The answer to a call as a model made it: a refusal is content too. */
export class ModelReply extends Answer {
  #error: ToolError | undefined;
  #outcome: Outcome | undefined;

  /** Whether the tool refused or failed. */
  get isError(): boolean {
    return this.response.isError || this.response.error !== undefined;
  }

  /** The error for programs. */
  get error(): ToolError | undefined {
    this.#error ??= errorOf(this.response);
    return this.#error;
  }

  /**
   * The outcome for programs. Beside an `error` only for an effect that is there and could not be made durable.
   *
   * @throws RangeError for an integer that a number cannot hold exactly; `response` has it.
   */
  get outcome(): Outcome | undefined {
    this.#outcome ??= outcomeOf(this.response);
    return this.#outcome;
  }

  /**
   * The answer in the form in which a model's programming interface wants it.
   *
   * @param options `id` of the call, the given `toolCallId` by default; `name` of the tool, which Gemini wants
   * @throws ArgumentError when the format wants what is not given, and for an unknown format
   */
  asResult<Format extends ResultFormat>(format: Format, ...options: ResultOptions<Format>): ResultForms[Format] {
    return toolResult(this, format, ...options);
  }

  override toJSON(): object {
    const { content, isError, error, outcome, dryRun, requestId, toolCallId } = this;
    const told = error && { code: error.code, message: error.message, path: error.path, remedy: error.remedy };
    return { content, isError, error: told, outcome, dryRun, requestId, toolCallId };
  }
}

/**
 * Takes the answer to a typed call apart.
 *
 * @throws ToolError when the tool refused or failed
 * @throws ProtocolError for an answer with neither an error nor an outcome of the tool
 */
export function decode<Tool extends keyof Outcomes>(response: ExecuteResponse, tool: Tool): ToolResult<Tool> {
  const error = errorOf(response);
  if (error !== undefined) throw error;
  if (response.isError) throw new ProtocolError(`the answer to \`${tool}\` is marked as an error, and has none`);
  if (response.outcome.case !== tool) {
    throw new ProtocolError(`the answer to \`${tool}\` has neither an error nor an outcome of this tool`);
  }
  return new ToolResult(response, tool);
}

function errorOf(response: ExecuteResponse): ToolError | undefined {
  if (response.error === undefined) return undefined;
  return new ToolError(response.error, contentOf(response), () => outcomeOf(response));
}

function outcomeOf(response: ExecuteResponse): Outcome | undefined {
  return response.outcome.case === undefined ? undefined : (toPlain(response.outcome) as Outcome);
}

function contentOf(response: ExecuteResponse): ContentBlock[] {
  const blocks: ContentBlock[] = [];
  for (const { block } of response.content) {
    if (block.case === "text") blocks.push({ type: "text", text: block.value });
    if (block.case === "image") blocks.push({ type: "image", mimeType: block.value.mimeType, data: block.value.data });
  }
  return blocks;
}
