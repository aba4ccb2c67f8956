/** Addresses to serve at. */

/** Where to serve: a Unix socket, or a TCP port. */
export type Address = { readonly path: string } | { readonly host: string; readonly port: number };

/**
 * Reads `unix:PATH` or `HOST:PORT` (`[::1]:50060`; port 0 takes a free one), also as `toolfs serve` has it:
 * `grpc://HOST:PORT`.
 *
 * @throws RangeError for text that is no address, and for a host beyond loopback: nothing authenticates callers there
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
    throw new RangeError(`\`address\` is no address: give \`unix:PATH\` or \`HOST:PORT\``);
  }
  const isLoopback = host === "localhost" || host === "::1" || /^127(\.[0-9]{1,3}){3}$/.test(host);
  if (!isLoopback && !allowRemote) {
    const why = "other hosts can reach it and nothing authenticates them";
    throw new RangeError(`\`${host}\` is beyond loopback, ${why}: set \`allowRemote\` behind something that does`);
  }
  return { host, port };
}
