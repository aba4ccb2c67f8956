/** Replays one case through the layer: set-up, steps, expectations, and the disk at the end. */
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type DescMessage, type MessageShape, toJson } from "@bufbuild/protobuf";
import { CallError, type CallOptions, type Session, type SessionInfo, ToolError, Toolfs } from "../../src/index.js";
import { ExecuteResponseSchema, FsErrorSchema, SessionSchema } from "../../src/v1.js";
import { type Server, startServer } from "../support/server.js";
import type { Case } from "./case.js";
import { changeTree, leavesOf, makeTree, treeDifferences } from "./disk.js";
import { isObject, type Json, type JsonObject } from "./json.js";
import { Bindings, contentMismatches, mismatches } from "./match.js";
import { buildText, mustBuild } from "./text.js";

/** What came back, in Protobuf's JSON form with the field names of the `.proto` files. */
interface Answer {
  content?: string;
  response?: JsonObject;
  error?: JsonObject;
  status?: JsonObject;
  session?: JsonObject;
}

/**
 * Replays a case against a server of its own. Returns what was not as expected: nothing when the case passes. The steps
 * end at the first that is not as expected, since what follows would only repeat that.
 */
export async function replay(given: Case): Promise<string[]> {
  const place = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "toolfs-corpus-")));
  const root = join(place, "root");
  const outside = join(place, "outside");
  try {
    makeTree(root, given.files);
    fs.mkdirSync(outside);
    await using run = await Run.start(given, place, root);
    const problems = await run.steps(given.steps);
    if (problems.length > 0) return problems;
    await run.stop();
    const strays = leavesOf(outside).map((name) => `disk: \`${name}\` was made outside the root`);
    return [...treeDifferences(root, given.files, given.disk), ...strays];
  } finally {
    fs.rmSync(place, { recursive: true, force: true });
  }
}

class Run implements AsyncDisposable {
  readonly #root: string;
  readonly #start: () => Promise<Server>;
  #server: Server;
  readonly #client: Toolfs;
  readonly #sessions = new Map<string, Session>();
  readonly #others: Toolfs[] = [];
  readonly #bindings = new Bindings();
  readonly #requestIds = new Map<string, string>();

  private constructor(root: string, start: () => Promise<Server>, server: Server) {
    this.#root = root;
    this.#start = start;
    this.#server = server;
    this.#client = Toolfs.connect(server.address);
  }

  static async start(given: Case, place: string, root: string): Promise<Run> {
    const isKept = given.steps.some((step) => "restart" in step);
    const options = {
      root: `${root}=/workspace`,
      listen: `unix:${join(place, "toolfs.sock")}`,
      state: isKept ? join(place, "state") : "memory",
      args: given.server,
    };
    const start = () => startServer(options);
    return new Run(root, start, await start());
  }

  async steps(steps: JsonObject[]): Promise<string[]> {
    for (const [at, step] of steps.entries()) {
      const together = (step.parallel ?? [step]) as JsonObject[];
      for (const one of together) await this.#openWhenNeeded(one);
      const answers = await Promise.all(together.map((one) => this.#do(one)));
      // Judged in the order of the case, so that the names of `$bind` do not depend on who came first.
      for (const [place, one] of together.entries()) {
        const problems = this.#judge((one.expect ?? {}) as JsonObject, answers[place] as Answer);
        const which = one === step ? `step ${at + 1}` : `step ${at + 1}, number ${place + 1} of those in parallel`;
        if (problems.length > 0) return problems.map((problem) => `${which}: ${problem}`);
      }
    }
    return [];
  }

  /** Ends the server, which must end well. */
  async stop(): Promise<void> {
    await this.#server.stop();
    const { exitCode, signalCode } = this.#server.process;
    if (exitCode !== 0) throw new Error(`the server ended with ${exitCode ?? signalCode}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of [this.#client, ...this.#others]) await client.close();
    await this.#server[Symbol.asyncDispose]();
  }

  async #openWhenNeeded(step: JsonObject): Promise<void> {
    const needsNone = "open" in step || "outside" in step || "restart" in step || step.session === null;
    const name = sessionName(step);
    if (needsNone || this.#sessions.has(name)) return;
    if (name !== "main") throw new Error(`the session \`${name}\` is used before it is opened`);
    this.#sessions.set(name, await this.#client.openSession());
  }

  async #do(step: JsonObject): Promise<Answer> {
    try {
      return await this.#doOrThrow(step);
    } catch (error) {
      if (error instanceof ToolError) return toolFailure(error);
      if (error instanceof CallError) return { status: statusOf(error) };
      throw error;
    }
  }

  async #doOrThrow(step: JsonObject): Promise<Answer> {
    const name = sessionName(step);
    if (isObject(step.outside)) {
      changeTree(this.#root, step.outside);
      return {};
    }
    if ("restart" in step) {
      await this.stop();
      this.#server = await this.#start();
      return {};
    }
    if (isObject(step.open)) {
      const { cwd, roots, labels, mode } = step.open as Record<string, never>;
      const session = await this.#client.openSession({ cwd, roots, labels, readOnly: mode === "read-only" });
      this.#sessions.set(name, session);
      return { session: sessionOf(session.info) };
    }
    if (step.session === null) return this.#call(this.#client, step);
    const session = this.#sessions.get(name) as Session;
    if ("close" in step) {
      await session.close();
      return {};
    }
    if ("resume" in step) return this.#resume(name, session);
    if (isObject(step.forget)) {
      if (Array.isArray(step.forget.paths)) await session.forget(step.forget.paths as string[]);
      else await session.forgetAll();
      return {};
    }
    return "call" in step ? this.#call(session, step) : this.#typed(session, step);
  }

  async #resume(name: string, session: Session): Promise<Answer> {
    // Another limit makes it another connection.
    const maxMessageBytes = (64 << 20) + 1 + this.#others.length;
    const client = Toolfs.connect(this.#server.address, { maxMessageBytes });
    this.#others.push(client);
    const resumed = await client.resumeSession(session.id);
    this.#sessions.set(name, resumed);
    return { session: sessionOf(resumed.info) };
  }

  async #call(caller: Toolfs | Session, step: JsonObject): Promise<Answer> {
    const call = step.call as { name: string; arguments?: object; arguments_json?: string };
    const reply = await caller.call(call.name, call.arguments ?? call.arguments_json ?? "", this.#options(step));
    const answer = { content: reply.text, response: jsonOf(ExecuteResponseSchema, reply.response) };
    const { error } = reply;
    if (reply.isError !== (error !== undefined)) throw new Error("`isError` and `error` say different things");
    return error === undefined ? answer : { ...answer, error: jsonOf(FsErrorSchema, error.raw) };
  }

  async #typed(session: Session, step: JsonObject): Promise<Answer> {
    const options = this.#options(step);
    const result = isObject(step.read)
      ? await session.read(built(step.read), options)
      : isObject(step.write)
        ? await session.write(built(step.write), options)
        : await session.edit(built(step.edit as JsonObject), options);
    if (result.outcome.path === "") throw new Error("the typed outcome lacks its path");
    return { content: result.text, response: jsonOf(ExecuteResponseSchema, result.response) };
  }

  #options(step: JsonObject): CallOptions {
    const { request_id: name, tool_call_id: toolCallId, dry_run: dryRun, view } = step;
    if (typeof name === "string" && !this.#requestIds.has(name)) this.#requestIds.set(name, randomUUID());
    return { requestId: this.#requestIds.get(String(name)), toolCallId, dryRun, view } as CallOptions;
  }

  #judge(expected: JsonObject, answer: Answer): string[] {
    if (expected.status === undefined && answer.status !== undefined) {
      return [`the call must be taken, but its status is ${JSON.stringify(answer.status)}`];
    }
    if (expected.error === undefined && answer.error !== undefined) {
      return [`the call must succeed, but it failed: ${JSON.stringify(answer.error)}`];
    }
    const outcome = outcomeOf(answer.response);
    const problems: string[] = [];
    if (expected.error !== undefined && expected.outcome === undefined && outcome !== undefined) {
      problems.push(`outcome: there must be none beside an error, but it is ${JSON.stringify(outcome)}`);
    }
    if (expected.content !== undefined) {
      const isPieces = isObject(expected.content) && expected.content.contains !== undefined;
      const wanted = isPieces ? (expected.content as { contains: string[] }) : mustBuild(expected.content);
      problems.push(...contentMismatches(wanted, answer.content));
    }
    const { error, status, session, response } = answer;
    const actual = {
      outcome,
      error,
      status,
      session,
      tool_call_id: response?.tool_call_id,
      dry_run: response?.dry_run,
    };
    for (const [member, value] of Object.entries(actual)) {
      const wanted = expected[member];
      if (wanted !== undefined) problems.push(...mismatches(wanted, value, this.#bindings, member));
    }
    return problems;
  }
}

function sessionName(step: JsonObject): string {
  return typeof step.session === "string" ? step.session : "main";
}

/** Arguments of a typed call, with their texts built. */
function built<Arguments>(args: JsonObject): Arguments {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, buildText(value) ?? value]),
  ) as Arguments;
}

function toolFailure(error: ToolError): Answer {
  return { error: jsonOf(FsErrorSchema, error.raw) };
}

function statusOf(error: CallError): JsonObject {
  const status: JsonObject = { code: error.status };
  if (error.reason !== "") status.reason = error.reason;
  if (error.fsError !== undefined) status.error = jsonOf(FsErrorSchema, error.fsError.raw);
  return status;
}

function sessionOf(info: SessionInfo): JsonObject {
  const time = (plain: { seconds: number; nanos: number } | undefined) =>
    plain && { seconds: BigInt(plain.seconds), nanos: plain.nanos };
  const { createTime, expireTime, ...rest } = info;
  const message = create(SessionSchema, rest);
  const created = time(createTime);
  const expires = time(expireTime);
  if (created) message.createTime = { $typeName: "google.protobuf.Timestamp", ...created };
  if (expires) message.expireTime = { $typeName: "google.protobuf.Timestamp", ...expires };
  return jsonOf(SessionSchema, message);
}

function outcomeOf(response: JsonObject | undefined): JsonObject | undefined {
  const tool = ["read", "write", "edit"].find((name) => response?.[name] !== undefined);
  return tool === undefined ? undefined : { [tool]: response?.[tool] as Json };
}

function jsonOf<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): JsonObject {
  return toJson(schema, message, { useProtoFieldName: true }) as JsonObject;
}
