/**
 * A gate in TypeScript: an agent changes only what it has seen. Serves it to `toolfs serve --policy`.
 *
 *     npx tsx examples/observation-gate.ts unix:/tmp/gate.sock
 *     toolfs serve --root /srv/project --policy unix:/tmp/gate.sock
 *
 * Observations are in memory: when the gate restarts, agents read again, which is always safe.
 */
import { pathToFileURL } from "node:url";
import {
  type EditGuard,
  type ForgetScope,
  FsError,
  type GateCapabilities,
  type Observation,
  PolicyGate,
  serveGate,
  type TargetKey,
  type WriteGuard,
} from "toolfs/policy";

/** How many ended sessions are remembered as such: longer than a record of them can be on its way. */
const MAX_ENDED = 100_000;

/** What is known of a session at a target; without `seen` it was forgotten. */
interface Fact {
  readonly seen: Observation | undefined;
  readonly order: bigint;
}

/** What one session saw. */
interface Session {
  readonly facts: Map<string, Fact>;
  /** What is at or below this order is forgotten, also when it is recorded later. */
  floor: bigint | undefined;
}

/** A write creates what was not seen and replaces the version that was; an edit needs a version that was seen. */
export class ObservationGate extends PolicyGate {
  readonly #sessions = new Map<string, Session>();
  readonly #ended = new Set<string>();

  override capabilities(): GateCapabilities {
    return { name: "observation", persistent: false };
  }

  override decideWrite(session: string | undefined, target: TargetKey): WriteGuard {
    const seen = this.#seen(session, target);
    return seen?.kind === "present"
      ? { kind: "replace-if-version", version: seen.version }
      : { kind: "create-if-absent" };
  }

  override decideEdit(session: string | undefined, target: TargetKey): EditGuard {
    const seen = this.#seen(session, target);
    if (seen === undefined) {
      const who =
        session === undefined ? "a call without a session has seen nothing" : "this session has not read the file";
      throw new FsError({ code: "FS_NOT_OBSERVED" }, who);
    }
    if (seen.kind === "absent") {
      throw new FsError({ code: "FS_NOT_FOUND" }, "when this session last looked, no file was there");
    }
    return { kind: "replace-if-version", version: seen.version };
  }

  override recordObservation(session: string, target: TargetKey, observation: Observation, order: bigint): void {
    this.#put(session, target, { seen: observation, order });
  }

  override forget(session: string, scope: ForgetScope, order: bigint): void {
    if (scope.kind === "targets") {
      for (const target of scope.targets) this.#put(session, target, { seen: undefined, order });
      return;
    }
    const known = this.#session(session);
    if (known === undefined || !isAbove(order, known.floor)) return;
    known.floor = order;
    for (const [target, fact] of known.facts) if (fact.order <= order) known.facts.delete(target);
  }

  override endSession(session: string): void {
    this.#sessions.delete(session);
    this.#ended.add(session);
    for (const oldest of this.#ended) {
      if (this.#ended.size <= MAX_ENDED) break;
      this.#ended.delete(oldest);
    }
  }

  #seen(session: string | undefined, target: TargetKey): Observation | undefined {
    return session === undefined ? undefined : this.#sessions.get(session)?.facts.get(nameOf(target))?.seen;
  }

  /** What is known of a session, made when it is new; absent once it has ended: it never comes back. */
  #session(session: string): Session | undefined {
    if (this.#ended.has(session)) return undefined;
    const known = this.#sessions.get(session) ?? { facts: new Map(), floor: undefined };
    this.#sessions.set(session, known);
    return known;
  }

  /** Keeps the fact of the highest order. Forgetting covers the observations of its own order too. */
  #put(session: string, target: TargetKey, fact: Fact): void {
    const known = this.#session(session);
    if (known === undefined || !isAbove(fact.order, known.floor)) return;
    const before = known.facts.get(nameOf(target));
    const isNews = isAbove(fact.order, before?.order) || (fact.order === before?.order && fact.seen === undefined);
    if (isNews) known.facts.set(nameOf(target), fact);
  }
}

function isAbove(order: bigint, other: bigint | undefined): boolean {
  return other === undefined || order > other;
}

/** Keys are compared as bytes; Latin-1 gives each byte a character. */
function nameOf(target: TargetKey): string {
  return Buffer.from(target).toString("latin1");
}

async function main([address]: readonly string[]): Promise<void> {
  if (address === undefined) throw new Error("usage: observation-gate unix:PATH|HOST:PORT");
  const served = await serveGate(new ObservationGate(), address);
  const close = () => void served.close();
  process.once("SIGTERM", close).once("SIGINT", close);
  console.log(`ready: toolfs serve --root DIR --policy ${served.address}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main(process.argv.slice(2));
