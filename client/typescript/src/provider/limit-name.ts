/** The limits of the seam as they are announced. */
import * as v1 from "../v1.js";

/** The kind of each limit that the seam knows, by its announced name. */
export const LIMIT_KINDS: Readonly<Record<string, v1.LimitKind>> = {
  max_window_bytes: v1.LimitKind.MAX_WINDOW_BYTES,
  max_line_chars: v1.LimitKind.MAX_LINE_CHARS,
  max_content_bytes: v1.LimitKind.MAX_CONTENT_BYTES,
  max_file_bytes: v1.LimitKind.MAX_FILE_BYTES,
  max_read_bytes: v1.LimitKind.MAX_READ_BYTES,
  max_diff_bytes: v1.LimitKind.MAX_DIFF_BYTES,
  max_message_bytes: v1.LimitKind.MAX_MESSAGE_BYTES,
  max_path_bytes: v1.LimitKind.MAX_PATH_BYTES,
  near_miss_bytes: v1.LimitKind.NEAR_MISS_BYTES,
  near_miss_ms: v1.LimitKind.NEAR_MISS_MS,
};
