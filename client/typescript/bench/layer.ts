/**
 * What the layer costs on top of a bare connect-node client, for a small read over the same kind of connection.
 *
 * The two take turns call by call, so that whatever else the machine does meets both. Prints one line of JSON; all
 * times are in microseconds.
 */
import { writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Toolfs } from "../src/index.js";
import { SessionService, ToolService } from "../src/v1.js";
import { startServer } from "../test/support/server.js";

const ROUNDS = 7;
const CALLS = 400;
const WARM_UP = 400;

await using server = await startServer();
writeFileSync(join(server.directory, "small.txt"), "one\ntwo\nthree\n");

const socketPath = server.address.slice("unix:".length);
const transport = createGrpcTransport({
  baseUrl: "http://localhost",
  nodeOptions: { createConnection: () => net.connect({ path: socketPath }) },
});
const bare = createClient(ToolService, transport);
const { sessionId } = await createClient(SessionService, transport).openSession({});

await using client = Toolfs.connect(server.address);
await using session = await client.openSession();

// The least that a caller can do: without the request id and the deadline that the layer fills in.
async function callBare(): Promise<bigint | undefined> {
  const call = { case: "read" as const, value: { filePath: "small.txt" } };
  const response = await bare.execute({ sessionId, call });
  return response.outcome.case === "read" ? response.outcome.value.totalLines : undefined;
}

async function callLayer(): Promise<number | undefined> {
  return (await session.read({ file_path: "small.txt" })).outcome.totalLines;
}

async function timed(call: () => Promise<unknown>): Promise<number> {
  const began = process.hrtime.bigint();
  await call();
  return Number(process.hrtime.bigint() - began) / 1e3;
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] as number;
}

if ((await callBare()) !== 3n || (await callLayer()) !== 3) throw new Error("the two do not read the same");
for (let call = 0; call < WARM_UP; call += 1) {
  await callBare();
  await callLayer();
}
const rounds: { bare: number; layer: number }[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const times: { bare: number[]; layer: number[] } = { bare: [], layer: [] };
  for (let call = 0; call < CALLS; call += 1) {
    // Whoever comes second finds the other's caches: they change places.
    const bareFirst = call % 2 === 0;
    if (bareFirst) times.bare.push(await timed(callBare));
    times.layer.push(await timed(callLayer));
    if (!bareFirst) times.bare.push(await timed(callBare));
  }
  rounds.push({ bare: median(times.bare), layer: median(times.layer) });
}
const ratio = median(rounds.map((round) => round.layer / round.bare));
const result = {
  language: "TypeScript",
  rounds: ROUNDS,
  calls: CALLS,
  bare_p50_us: Math.round(median(rounds.map((round) => round.bare))),
  layer_p50_us: Math.round(median(rounds.map((round) => round.layer))),
  ratio: Number(ratio.toFixed(3)),
};
console.log(JSON.stringify(result));
