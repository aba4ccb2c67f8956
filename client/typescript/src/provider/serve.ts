/** Serving a provider to the process that runs the tools. */
import { listen, type Served, type ServeOptions, withDefaults } from "./listener.js";
import type { Provider } from "./provider.js";
import { addFileSystemService } from "./service.js";

/**
 * Serves a provider at `unix:PATH` or `HOST:PORT`, for `toolfs serve --provider`. Resolves once it can be called.
 *
 * A caller of this service writes past the policy gate: a socket is its owner's only, and TCP stays on loopback unless
 * `allowRemote` is set.
 *
 * ```ts
 * const served = await serveProvider(new DirectoryProvider("/srv/project"), "unix:/run/user/1000/files.sock");
 * // toolfs serve --provider unix:/run/user/1000/files.sock
 * await served.close();
 * ```
 *
 * @throws ArgumentError for an address that is none, or beyond loopback unasked; the error of the system when it cannot be taken
 */
export async function serveProvider(provider: Provider, address: string, options: ServeOptions = {}): Promise<Served> {
  const filled = withDefaults(options);
  const { limits } = await provider.capabilities({ signal: new AbortController().signal });
  return listen(address, filled, limits.maxMessageBytes, (router) => {
    addFileSystemService(router, provider, limits, filled);
  });
}
