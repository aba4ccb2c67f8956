/** Where a server is: `unix:/path` or `HOST:PORT`. */
import { ArgumentError } from "./error.js";

/** An address that was understood. */
export type Address =
  | { kind: "unix"; text: string; path: string }
  | {
      kind: "tcp";
      text: string;
      host: string;
      port: number;
    };

/**
 * Reads an address.
 *
 * @throws ArgumentError for a text that is none
 */
export function parseAddress(text: string): Address {
  // Callers in JavaScript give anything: a URL, for instance, or a port alone.
  if (typeof text !== "string") throw new ArgumentError("address", "must be a text: `unix:/PATH` or `HOST:PORT`");
  if (/^https?:/i.test(text)) {
    const message = `must be \`HOST:PORT\` without a scheme, not \`${text}\`: it is the option \`tls\` that asks for TLS`;
    throw new ArgumentError("address", message);
  }
  if (text.startsWith("unix:")) {
    const path = text.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
    if (path === "" || path.includes("\0")) throw notAnAddress(text);
    return { kind: "unix", text, path };
  }
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:/?#@\s[\]]+):([0-9]{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match?.[1] === undefined || port < 1 || port > 65535) throw notAnAddress(text);
  // Four numbers that are no IPv4 address, groups that are no IPv6 one.
  if (!URL.canParse(`http://${match[1]}:${port}`)) throw notAnAddress(text);
  return { kind: "tcp", text, host: match[1].replace(/^\[|\]$/g, ""), port };
}

/** Whether what is sent there stays on this machine. */
export function isLocal(address: Address): boolean {
  if (address.kind === "unix") return true;
  return isLoopback(address.host);
}

/** Whether a host, without the brackets of IPv6, is this machine by its very name. No name is looked up. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.[0-9]{1,3}){3}$/.test(host);
}

function notAnAddress(text: string): ArgumentError {
  return new ArgumentError("address", `must be \`unix:/PATH\` or \`HOST:PORT\`, not \`${text}\``);
}
