/** The gate: its table of states, its order of observations, and its refusals over the wire. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@connectrpc/connect";
import { ObservationGate } from "../../examples/observation-gate.js";
import { PolicyGate, serveGate } from "../../src/policy/index.js";
import * as v1 from "../../src/v1.js";
import { type Peer, peerOf, refusalOf } from "../provider/support.js";

type Gate = Peer<typeof v1.PolicyService>;
type Client = Gate["client"];

function gate(): Promise<Gate> {
  return peerOf(v1.PolicyService, (address) => serveGate(new ObservationGate(), address, { drainMs: 500 }));
}

const SESSION = "session-7";
const TARGET = Buffer.from("t\0\xff", "latin1");
const ABSENT = { state: { case: "absent", value: {} } } as const;

function present(presentVersion: string) {
  return { state: { case: "presentVersion", value: presentVersion } } as const;
}

function saw(
  client: Client,
  observation: typeof ABSENT | ReturnType<typeof present>,
  order: bigint,
  sessionKey = SESSION,
) {
  return client.recordObservation({ sessionKey, targetKey: TARGET, observation, order });
}

async function writeGuard(client: Client, sessionKey = SESSION, targetKey = TARGET): Promise<unknown> {
  const { guard } = await client.decideWrite({ sessionKey, targetKey });
  const { case: kind, value } = guard?.condition ?? {};
  return kind === "replaceIfVersion" ? value : kind;
}

/** The version that an edit has to meet, or why there is none. */
async function editGuard(client: Client, sessionKey = SESSION): Promise<unknown> {
  try {
    const { guard } = await client.decideEdit({ sessionKey, targetKey: TARGET });
    return guard?.condition.value;
  } catch (refused) {
    return (await refusalOf(Promise.reject(refused))).reason;
  }
}

const forgetAll = { scope: { case: "all", value: {} } } as const;
const forgetTarget = { scope: { case: "targets" as const, value: { targetKeys: [TARGET] } } };

const states: [name: string, before: (client: Client) => Promise<unknown>, write: string, edit: string][] = [
  ["nothing was seen", async () => {}, "createIfAbsent", "FS_NOT_OBSERVED"],
  ["nothing was there", (client) => saw(client, ABSENT, 1n), "createIfAbsent", "FS_NOT_FOUND"],
  ["a content was there", (client) => saw(client, present("v1"), 1n), "v1", "v1"],
  [
    "a newer content was seen",
    async (client) => {
      await saw(client, present("v1"), 1n);
      await saw(client, present("v2"), 2n);
    },
    "v2",
    "v2",
  ],
  [
    "an older observation came late",
    async (client) => {
      await saw(client, present("v2"), 2n ** 62n);
      await saw(client, present("v1"), 2n ** 62n - 1n);
    },
    "v2",
    "v2",
  ],
  [
    "one order came twice",
    async (client) => {
      await saw(client, present("v1"), 5n);
      await saw(client, ABSENT, 5n);
    },
    "v1",
    "v1",
  ],
  [
    "another session saw it",
    (client) => saw(client, present("v1"), 1n, "another"),
    "createIfAbsent",
    "FS_NOT_OBSERVED",
  ],
  [
    "it was forgotten",
    async (client) => {
      await saw(client, present("v1"), 5n);
      await client.forget({ sessionKey: SESSION, order: 5n, ...forgetTarget });
    },
    "createIfAbsent",
    "FS_NOT_OBSERVED",
  ],
  [
    "everything was forgotten",
    async (client) => {
      await saw(client, present("v1"), 5n);
      await client.forget({ sessionKey: SESSION, order: 5n, ...forgetAll });
    },
    "createIfAbsent",
    "FS_NOT_OBSERVED",
  ],
  [
    "an observation came after a later forgetting",
    async (client) => {
      await client.forget({ sessionKey: SESSION, order: 9n, ...forgetTarget });
      await saw(client, present("v1"), 8n);
    },
    "createIfAbsent",
    "FS_NOT_OBSERVED",
  ],
  [
    "an observation came after everything was forgotten later",
    async (client) => {
      await client.forget({ sessionKey: SESSION, order: 9n, ...forgetAll });
      await saw(client, present("v1"), 9n);
    },
    "createIfAbsent",
    "FS_NOT_OBSERVED",
  ],
  [
    "it was seen again after a forgetting",
    async (client) => {
      await client.forget({ sessionKey: SESSION, order: 9n, ...forgetAll });
      await saw(client, present("v1"), 10n);
    },
    "v1",
    "v1",
  ],
  [
    "a forgetting came late",
    async (client) => {
      await saw(client, present("v1"), 10n);
      await client.forget({ sessionKey: SESSION, order: 9n, ...forgetTarget });
      await client.forget({ sessionKey: SESSION, order: 9n, ...forgetAll });
    },
    "v1",
    "v1",
  ],
  [
    "the session ended",
    async (client) => {
      await saw(client, present("v1"), 1n);
      await client.endSession({ sessionKey: SESSION });
      await client.endSession({ sessionKey: SESSION });
    },
    "createIfAbsent",
    "FS_NOT_OBSERVED",
  ],
  [
    "an observation came after the session's end",
    async (client) => {
      await client.endSession({ sessionKey: SESSION });
      await saw(client, present("v1"), 1n);
    },
    "createIfAbsent",
    "FS_NOT_OBSERVED",
  ],
];

for (const [name, before, write, edit] of states) {
  test(`when ${name}, a write does not get ${write} or an edit not ${edit}`, async () => {
    await using seam = await gate();
    await before(seam.client);
    assert.equal(await writeGuard(seam.client), write);
    assert.equal(await editGuard(seam.client), edit);
  });
}

test("a call without a session has seen something", async () => {
  await using seam = await gate();
  await saw(seam.client, present("v1"), 1n);
  assert.equal(await writeGuard(seam.client, ""), "createIfAbsent");
  assert.equal(await editGuard(seam.client, ""), "FS_NOT_OBSERVED");
});

test("another target has been seen too", async () => {
  await using seam = await gate();
  await saw(seam.client, present("v1"), 1n);
  assert.equal(await writeGuard(seam.client, SESSION, Buffer.from("t\0\xfe", "latin1")), "createIfAbsent");
});

test("the gate tells another name or memory", async () => {
  await using seam = await gate();
  const { policy } = await seam.client.getPolicyCapabilities({});
  assert.deepEqual([policy?.name, policy?.persistent], ["observation", false]);
});

test("a refusal of the gate says what is there or what to do", async () => {
  await using seam = await gate();
  const told = await refusalOf(seam.client.decideEdit({ sessionKey: SESSION, targetKey: TARGET }));
  assert.deepEqual([told.grpc, told.domain], [Code.FailedPrecondition, "toolfs"]);
  assert.deepEqual([told.fsError?.detail.case, told.fsError?.remedy], [undefined, ""]);
});

const faulty: [name: string, call: (client: Client) => Promise<unknown>, reason: string][] = [
  ["a decision about no target", (client) => client.decideWrite({ sessionKey: SESSION }), "FS_INVALID_ARGUMENT"],
  ["an edit of no target", (client) => client.decideEdit({ sessionKey: SESSION }), "FS_INVALID_ARGUMENT"],
  ["a record of no session", (client) => saw(client, ABSENT, 1n, ""), "KEY_MISSING"],
  [
    "a record of nothing",
    (client) => client.recordObservation({ sessionKey: SESSION, targetKey: TARGET, order: 1n }),
    "FS_INVALID_ARGUMENT",
  ],
  [
    "a record of a state that is not known",
    (client) => client.recordObservation({ sessionKey: SESSION, targetKey: TARGET, order: 1n, observation: {} }),
    "FS_INVALID_ARGUMENT",
  ],
  ["a record of a version that is none", (client) => saw(client, present("a b"), 1n), "FS_INVALID_ARGUMENT"],
  [
    "a record without an order",
    (client) => client.recordObservation({ sessionKey: SESSION, targetKey: TARGET, observation: ABSENT }),
    "FS_INVALID_ARGUMENT",
  ],
  ["forgetting of no session", (client) => client.forget({ order: 1n, ...forgetAll }), "KEY_MISSING"],
  ["forgetting without a scope", (client) => client.forget({ sessionKey: SESSION, order: 1n }), "SCOPE_MISSING"],
  [
    "forgetting without an order",
    (client) => client.forget({ sessionKey: SESSION, ...forgetAll }),
    "FS_INVALID_ARGUMENT",
  ],
  ["the end of no session", (client) => client.endSession({}), "KEY_MISSING"],
];

for (const [name, call, reason] of faulty) {
  test(`${name} is not refused with ${reason}`, async () => {
    await using seam = await gate();
    const told = await refusalOf(call(seam.client));
    assert.deepEqual([told.reason, told.domain, told.grpc], [reason, "toolfs", Code.InvalidArgument]);
  });
}

test("a mistake of the gate lets a mutation happen", async () => {
  class Broken extends ObservationGate {
    override decideWrite(): never {
      throw new TypeError("secret of the gate");
    }
  }
  const mistakes: unknown[] = [];
  const onMistake = (mistake: unknown) => mistakes.push(mistake);
  const serve = (address: string) => serveGate(new Broken(), address, { onMistake });
  await using seam = await peerOf(v1.PolicyService, serve);
  const told = await refusalOf(seam.client.decideWrite({ sessionKey: SESSION, targetKey: TARGET }));
  assert.deepEqual([told.reason, mistakes.length], ["INTERNAL", 1]);
  assert.doesNotMatch(told.message, /secret/);
  assert.ok(new Broken() instanceof PolicyGate);
});

for (const answer of [undefined, null, {}, { kind: "whatever" }, { kind: "create-if-absent" }]) {
  test(`${JSON.stringify(answer)} is taken for the guard of an edit`, async () => {
    class Forgetful extends ObservationGate {
      override decideEdit(): never {
        return answer as never;
      }
      override decideWrite(): never {
        return (answer?.kind === "create-if-absent" ? undefined : answer) as never;
      }
    }
    const mistakes: unknown[] = [];
    const serve = (address: string) =>
      serveGate(new Forgetful(), address, { onMistake: (told) => mistakes.push(told) });
    await using seam = await peerOf(v1.PolicyService, serve);
    const target = { sessionKey: SESSION, targetKey: TARGET };
    assert.equal((await refusalOf(seam.client.decideEdit(target))).reason, "INTERNAL");
    assert.equal((await refusalOf(seam.client.decideWrite(target))).reason, "INTERNAL");
    assert.match(String(mistakes[0]), /`decideEdit` gave `.*`, which is no guard/);
    assert.match(String(mistakes[1]), /`decideWrite` gave `.*`, which is no guard/);
  });
}
