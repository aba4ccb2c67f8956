/** What a model reads, on its way into the forms of the SDKs. */
import type { ContentBlock } from "../content.js";

/** The answer to a call, in so far as a model hears of it: a `ModelReply`, or a plain object of this shape. */
export interface Answer {
  readonly content: readonly ContentBlock[];
  /** Whether the tool refused or failed. */
  readonly isError: boolean;
  /** The failure. */
  readonly error?: { readonly reason: string; readonly message: string; readonly remedy?: string } | undefined;
  /** The model's own id of the call; empty where none was given. */
  readonly toolCallId: string;
}

type Picture = Extract<ContentBlock, { type: "image" }>;

/**
 * The blocks that say something. A blank text is left out: there are services that refuse one.
 * A failure that says nothing is told by its error, since a model must hear of it.
 */
export function blocksOf(answer: Answer): ContentBlock[] {
  const blocks = answer.content.filter((block) => block.type !== "text" || block.text.trim() !== "");
  if (blocks.length > 0 || !answer.isError || answer.error === undefined) return blocks;
  const { reason, message, remedy } = answer.error;
  return [{ type: "text", text: `${reason}: ${message}${remedy ? ` (${remedy})` : ""}` }];
}

/** The texts as one. A line stands for each picture and says what the model cannot see. */
export function textOf(blocks: readonly ContentBlock[]): string {
  return blocks.map((block) => (block.type === "text" ? block.text : noteOf(block))).join("\n");
}

/** What a model is told in the place of a picture that its service does not take. */
export function noteOf(picture: Picture): string {
  return `(a picture that cannot be shown here: ${picture.mimeType}, ${picture.data.byteLength} bytes)`;
}

/** The bytes of a picture in Base64, padded. */
export function base64Of(picture: Picture): string {
  const { buffer, byteOffset, byteLength } = picture.data;
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}
