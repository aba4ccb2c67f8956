/** What a model reads, on its way into the forms of the SDKs. */
import type { ContentBlock } from "../reply.js";

/** The answer to a call, in so far as a model hears of it: a `ModelReply`, or a plain object of this shape. */
export interface Answer {
  readonly content: readonly ContentBlock[];
  /** Whether the tool refused or failed. */
  readonly isError: boolean;
  /** The model's own id of the call; empty where none was given. */
  readonly toolCallId: string;
}

type Picture = Extract<ContentBlock, { type: "image" }>;

/** The blocks that say something. An empty text is left out: there are services that refuse one. */
export function blocksOf(answer: Answer): ContentBlock[] {
  return answer.content.filter((block) => block.type !== "text" || block.text !== "");
}

/** The texts as one. A picture is stood for by a line that says what the model cannot see here. */
export function textOf(blocks: readonly ContentBlock[]): string {
  return blocks.map((block) => (block.type === "text" ? block.text : noteOf(block))).join("\n");
}

/** What a model is told in place of a picture that its service does not take. */
export function noteOf(picture: Picture): string {
  return `(a picture that cannot be shown here: ${picture.mimeType}, ${picture.data.byteLength} bytes)`;
}

/** The bytes of a picture in Base64, padded. */
export function base64Of(picture: Picture): string {
  const { buffer, byteOffset, byteLength } = picture.data;
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}
