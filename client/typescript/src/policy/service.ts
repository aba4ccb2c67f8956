/** `toolfs.v1.PolicyService` over a gate: each RPC is decode, call, encode. */
import { inspect } from "node:util";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { absent, targetKey, version } from "../provider/decode.js";
import type { EditGuard, WriteGuard } from "../provider/guard.js";
import { type MistakeHandler, refused, statusOfThrown } from "../provider/status.js";
import * as v1 from "../v1.js";
import type { ForgetScope, Observation, PolicyGate } from "./gate.js";

/** Adds a gate to a router. `onMistake` is told what was thrown and is no `FsError`. */
export function addPolicyService(router: ConnectRouter, gate: PolicyGate, onMistake: MistakeHandler): void {
  const answer = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (thrown) {
      throw statusOfThrown(thrown, onMistake);
    }
  };
  router.service(v1.PolicyService, {
    getPolicyCapabilities: () =>
      answer(async () => {
        const { name, persistent } = await gate.capabilities();
        return { policy: { name, persistent } };
      }),
    decideWrite: (request) =>
      answer(async () => {
        const target = targetKey("target_key", request.targetKey);
        return { guard: writeGuard(await gate.decideWrite(request.sessionKey || undefined, target)) };
      }),
    decideEdit: (request) =>
      answer(async () => {
        const target = targetKey("target_key", request.targetKey);
        return { guard: editGuard(await gate.decideEdit(request.sessionKey || undefined, target)) };
      }),
    recordObservation: (request) =>
      answer(async () => {
        const session = sessionKey(request.sessionKey);
        const target = targetKey("target_key", request.targetKey);
        await gate.recordObservation(session, target, observation(request.observation), order(request.order));
        return {};
      }),
    forget: (request) =>
      answer(async () => {
        const session = sessionKey(request.sessionKey);
        await gate.forget(session, scope(request.scope), order(request.order));
        return {};
      }),
    endSession: (request) =>
      answer(async () => {
        await gate.endSession(sessionKey(request.sessionKey));
        return {};
      }),
  });
}

function writeGuard(guard: WriteGuard): MessageInitShape<typeof v1.WriteGuardSchema> {
  switch (guard?.kind) {
    case "unconditional":
      return { condition: { case: "unconditional", value: {} } };
    case "create-if-absent":
      return { condition: { case: "createIfAbsent", value: {} } };
    case "replace-if-version":
      return { condition: { case: "replaceIfVersion", value: guard.version } };
    default:
      throw noGuard("decideWrite", guard);
  }
}

function editGuard(guard: EditGuard): MessageInitShape<typeof v1.EditGuardSchema> {
  switch (guard?.kind) {
    case "unconditional":
      return { condition: { case: "unconditional", value: {} } };
    case "replace-if-version":
      return { condition: { case: "replaceIfVersion", value: guard.version } };
    default:
      throw noGuard("decideEdit", guard);
  }
}

/** A gate in JavaScript, or one that forgets to answer, can give anything: what is no guard is a mistake of the gate. */
function noGuard(method: string, answer: never): TypeError {
  return new TypeError(`\`${method}\` gave \`${inspect(answer)}\`, which is no guard of its kind`);
}

function sessionKey(key: string): string {
  if (key !== "") return key;
  throw refused("KEY_MISSING", "the request names no session: set `session_key`");
}

function order(order: bigint | undefined): bigint {
  if (order !== undefined) return order;
  throw absent("order", "the place in the history of all observations");
}

function observation(told: v1.Observation | undefined): Observation {
  const state = told?.state;
  switch (state?.case) {
    case "absent":
      return { kind: "absent" };
    case "presentVersion":
      return { kind: "present", version: version("present_version", state.value) };
    default:
      throw absent("observation", "`absent` or `present_version`");
  }
}

function scope(told: v1.ForgetRequest["scope"]): ForgetScope {
  switch (told.case) {
    case "targets": {
      const targets = told.value.targetKeys.map((key) => targetKey("target_keys", key));
      return { kind: "targets", targets };
    }
    case "all":
      return { kind: "all" };
    default:
      throw refused("SCOPE_MISSING", "the request does not say what to forget: set `targets` or `all`");
  }
}
