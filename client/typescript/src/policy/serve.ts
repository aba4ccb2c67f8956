/** Serving a gate to the process that runs the tools. */
import { DEFAULT_LIMITS } from "../provider/capability.js";
import { listen, type Served, type ServeOptions, withDefaults } from "../provider/listener.js";
import type { PolicyGate } from "./gate.js";
import { addPolicyService } from "./service.js";

/**
 * Serves a gate at `unix:PATH` or `HOST:PORT`, for `toolfs serve --policy`. Resolves once it can be called.
 *
 * A caller of this service could forge an observation: a socket is its owner's only, and TCP stays on loopback unless
 * `allowRemote` is set.
 *
 * @throws ArgumentError for an address that is none, or beyond loopback unasked; the error of the system when it cannot be taken
 */
export async function serveGate(gate: PolicyGate, address: string, options: ServeOptions = {}): Promise<Served> {
  const filled = withDefaults(options);
  return listen(address, filled, DEFAULT_LIMITS.maxMessageBytes, (router) => {
    addPolicyService(router, gate, filled.onMistake);
  });
}
