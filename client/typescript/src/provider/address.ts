/** Addresses to serve at. */
import { isLoopback } from "../address.js";
import { ArgumentError } from "../error.js";

/** Where to serve: a Unix socket, or a TCP port. */
export type Address = { readonly path: string } | { readonly host: string; readonly port: number };

/**
 * Reads `unix:PATH` or `HOST:PORT` (`[::1]:50060`; port 0 takes a free one), also as `toolfs serve` has it:
 * `grpc://HOST:PORT`.
 *
 * @throws ArgumentError for text that is no address, and for a host beyond loopback: nothing authenticates callers there
 */
export function parseAddress(text: string, allowRemote: boolean): Address {
  if (text.startsWith("unix:")) {
    const path = text.slice("unix:".length);
    if (path !== "") return { path };
  }
  const parts = /^(?:grpc:\/\/)?(?:\[(?<v6>[^\]]+)\]|(?<host>[^:[\]]+)):(?<port>[0-9]{1,5})$/.exec(text)?.groups;
  const host = parts?.v6 ?? parts?.host;
  const port = Number(parts?.port);
  if (host === undefined || !(port <= 65_535)) {
    throw new ArgumentError("address", `must be \`unix:PATH\` or \`HOST:PORT\`, not \`${text}\``);
  }
  if (!isLoopback(host) && !allowRemote) {
    const why = "other hosts can reach it and nothing authenticates them";
    const message = `names \`${host}\`, which is beyond loopback, ${why}: set \`allowRemote\` behind something that does`;
    throw new ArgumentError("address", message);
  }
  return { host, port };
}
