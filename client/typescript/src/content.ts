/** What a model reads, in pieces. */

/** A piece of what a model reads. */
export type ContentBlock =
  | { type: "text"; text: string }
  | {
      type: "image";
      /** The media type: `image/png`. */
      mimeType: string;
      data: Uint8Array;
    };

/** The text of all pieces that are text, joined by newlines. */
export function textOf(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
