/**
 * `toolfs.v1.FileSystemService` over a provider: each RPC is decode, call, encode.
 *
 * The provider judges places, guards and protected patterns itself; nothing of a gate, a session or a tool is here.
 */
import type { ConnectRouter, HandlerContext, ServiceImpl } from "@connectrpc/connect";
import * as v1 from "../v1.js";
import type { Limits } from "./capability.js";
import * as decode from "./decode.js";
import { contentParts, entryBatches } from "./download.js";
import * as encode from "./encode.js";
import type { FsError } from "./fs-error.js";
import type { Provider } from "./provider.js";
import type { Call, WriteTextRequest } from "./request.js";
import { type MistakeHandler, statusOfThrown } from "./status.js";
import { receiveWrite } from "./upload.js";
import { wireError } from "./wire-error.js";

/** How a provider is served. */
export interface ServiceOptions {
  /** Milliseconds for which the caller of a write may send nothing. */
  readonly patienceMs: number;
  /** Is told what was thrown and is no `FsError`. */
  readonly onMistake: MistakeHandler;
}

/** Adds the seam of a provider, whose limits are asked once, to a router. */
export function addFileSystemService(
  router: ConnectRouter,
  provider: Provider,
  limits: Limits,
  options: ServiceOptions,
): void {
  router.service(v1.FileSystemService, fileSystemService(provider, limits, options));
}

function fileSystemService(
  provider: Provider,
  limits: Limits,
  { patienceMs, onMistake }: ServiceOptions,
): ServiceImpl<typeof v1.FileSystemService> {
  const one = async <T>(context: HandlerContext, work: (call: Call) => Promise<T>): Promise<T> => {
    try {
      return await work({ signal: context.signal });
    } catch (thrown) {
      throw statusOfThrown(thrown, onMistake);
    }
  };
  // Only what the provider throws is told: what the transport throws into here is that the caller went away.
  const many = async function* <T>(
    context: HandlerContext,
    work: (call: Call) => AsyncGenerator<T>,
  ): AsyncGenerator<T> {
    const told = async <V>(step: () => V | Promise<V>): Promise<V> => {
      try {
        return await step();
      } catch (thrown) {
        throw statusOfThrown(thrown, onMistake);
      }
    };
    const parts = await told(() => work({ signal: context.signal }));
    try {
      for (;;) {
        const next = await told(() => parts.next());
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await parts.return(undefined);
    }
  };
  const received = (
    messages: AsyncIterable<v1.WriteTextRequest | v1.PlanWriteRequest>,
    call: Call,
  ): Promise<WriteTextRequest> => {
    return receiveWrite(messages, { maxBytes: limits.maxContentBytes, patienceMs }, call);
  };

  return {
    getProviderCapabilities: (_, context) =>
      one(context, async (call) => encode.capabilitiesResponse(await provider.capabilities(call))),
    resolve: (request, context) =>
      one(context, async (call) => {
        const target = await provider.resolve(decode.resolveRequest(request), call);
        return { target: encode.targetOnWire(target) };
      }),
    contains: ({ ancestorKey, targetKey }, context) =>
      one(context, async (call) => {
        const ancestor = decode.targetKey("ancestor_key", ancestorKey);
        const target = decode.targetKey("target_key", targetKey);
        return { contained: await provider.contains(ancestor, target, call) };
      }),
    stat: ({ targetKey, wantVersion }, context) =>
      one(context, async (call) => {
        const stat = await provider.stat(decode.targetKey("target_key", targetKey), wantVersion, call);
        return { stat: encode.statOnWire(stat) };
      }),
    lstat: (request, context) =>
      one(context, async (call) => {
        const { version: _, ...stat } = await provider.lstat(decode.resolveRequest(request), call);
        return { stat: encode.statOnWire(stat) };
      }),
    readLines: (request, context) =>
      one(context, async (call) => {
        const window = decode.lineWindow(request, limits);
        const target = decode.targetKey("target_key", request.targetKey);
        return encode.linesResponse(await provider.readLines(target, window, call), request.firstLine ?? 1n);
      }),
    readText: ({ targetKey }, context) =>
      many(context, async function* (call) {
        const target = decode.targetKey("target_key", targetKey);
        yield* contentParts(await provider.readText(target, call), call);
      }),
    readBytes: (request, context) =>
      many(context, async function* (call) {
        const range = decode.byteRange(request);
        const target = decode.targetKey("target_key", request.targetKey);
        yield* contentParts(await provider.readBytes(target, range, call), call);
      }),
    listDir: ({ targetKey }, context) =>
      many(context, (call) => entryBatches(provider.listDir(decode.targetKey("target_key", targetKey), call), call)),
    writeText: (messages, context) =>
      one(context, async (call) => {
        const report = await provider.writeText(await received(messages, call), call);
        return { report: encode.writeReport(report), ...notDurable(report.notDurable) };
      }),
    editText: (request, context) =>
      one(context, async (call) => {
        const report = await provider.editText(decode.editRequest(request), call);
        return { report: encode.editReport(report), ...notDurable(report.notDurable) };
      }),
    planWrite: (messages, context) =>
      one(context, async (call) => {
        const report = await provider.planWrite(await received(messages, call), call);
        return { report: encode.writeReport(report) };
      }),
    planEdit: (request, context) =>
      one(context, async (call) => {
        const report = await provider.planEdit(decode.editRequest(request), call);
        return { report: encode.editReport(report) };
      }),
  };
}

/** It travels in a message, whole. */
function notDurable(error: FsError | undefined): { notDurable?: v1.FsError } {
  return error === undefined ? {} : { notDurable: wireError(error) };
}
