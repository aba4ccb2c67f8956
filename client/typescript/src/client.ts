/** The client of one server. */
import "./dispose.js";
import { inspect } from "node:util";
import { create } from "@bufbuild/protobuf";
import { allWellFormed, flag, integer, wellFormed } from "./argument.js";
import { type CallOptions, jsonCall } from "./call.js";
import { Caller, type ConnectOptions, type RequestOptions } from "./caller.js";
import { checkConnectOptions, checkLocalOptions, checkRequestOptions, REQUEST_KINDS } from "./connect-option.js";
import { ProtocolError } from "./error.js";
import { promptOf, type ToolFormat, type ToolForms, type ToolsOptions, toolDefinitions } from "./format/tools.js";
import {
  GetSessionRequestSchema,
  ListSessionsRequestSchema,
  OpenSessionRequestSchema,
  SessionService,
} from "./gen/toolfs/v1/session_pb.js";
import {
  GetCapabilitiesRequestSchema,
  type GetCapabilitiesResponse,
  ListToolsRequestSchema,
  type ToolDefinition,
  ToolService,
} from "./gen/toolfs/v1/tool_pb.js";
import { SessionMode } from "./gen/toolfs/v1/types_pb.js";
import { type LocalOptions, type LocalServer, startLocalServer } from "./local.js";
import { check, JUDGED_ELSEWHERE, known, LIST, OBJECT, SWITCH } from "./option.js";
import { type Plain, toPlain } from "./plain.js";
import { ModelReply } from "./reply.js";
import { execute, Session, type SessionInfo } from "./session.js";

/** What a new session asks for. */
export interface OpenSessionOptions extends RequestOptions {
  /** Where relative paths start; the first root otherwise. */
  cwd?: string | undefined;
  /** Directories to which the session is narrowed; all of the server's roots otherwise. */
  roots?: readonly string[] | undefined;
  /** Labels for operators. */
  labels?: Readonly<Record<string, string>> | undefined;
  /** Refuse every mutation. */
  readOnly?: boolean | undefined;
}

const OPEN_SESSION = known<OpenSessionOptions>("an option of `openSession`", "options", {
  ...REQUEST_KINDS,
  cwd: JUDGED_ELSEWHERE,
  roots: LIST,
  labels: OBJECT,
  readOnly: SWITCH,
});

const TOOLS = known<ToolsOptions & RequestOptions>("an option of `tools`", "options", {
  ...REQUEST_KINDS,
  strict: SWITCH,
});

interface ListSessionsOptions extends RequestOptions {
  pageSize?: number;
}

const LIST_SESSIONS = known<ListSessionsOptions>("an option of `listSessions`", "options", {
  ...REQUEST_KINDS,
  pageSize: JUDGED_ELSEWHERE,
});

/** What a server can do, and within which limits. */
export type Capabilities = Plain<GetCapabilitiesResponse>;

/**
 * A client of one server. Make one per process: clients of the same address and options share a connection all the
 * same.
 */
export class Toolfs implements AsyncDisposable {
  readonly #caller: Caller;
  readonly #server: LocalServer | undefined;

  private constructor(caller: Caller, server?: LocalServer) {
    this.#caller = caller;
    this.#server = server;
  }

  /**
   * A client of the server at `unix:/path` or `HOST:PORT`. The connection is made when the first call needs it, and
   * again when a call finds it lost.
   *
   * @throws ArgumentError for an address that is none, or that a token must not be sent to
   */
  static connect(address: string, options: ConnectOptions = {}): Toolfs {
    checkConnectOptions(options);
    return new Toolfs(new Caller(address, options));
  }

  /**
   * Starts a server of this process's own on a private Unix socket, and connects to it. The server ends with the
   * client, and with the process, however that ends.
   *
   * @throws LocalServerError when the command `toolfs` is not found, or does not start
   */
  static async local(options: LocalOptions = {}): Promise<Toolfs> {
    checkLocalOptions(options);
    const server = await startLocalServer(options);
    return new Toolfs(new Caller(server.address, options), server);
  }

  /** Where the server is. */
  get address(): string {
    return this.#caller.address;
  }

  /**
   * The tools as the server describes them.
   *
   * @throws CallError
   */
  async toolDefinitions(options: RequestOptions = {}): Promise<readonly ToolDefinition[]> {
    checkRequestOptions(options);
    const method = ToolService.method.listTools;
    return (await this.#caller.unary(method, create(ListToolsRequestSchema), "always", options)).tools;
  }

  /**
   * The tools in the form that a model's programming interface wants: `anthropic`, `openai` (Responses), `openai-chat`,
   * `gemini`, `mcp`, or `json` with all that there is to know.
   *
   * @throws ArgumentError for an unknown format, DefinitionError for a tool of a newer server, CallError
   */
  async tools<Format extends ToolFormat>(
    format: Format,
    options: ToolsOptions & RequestOptions = {},
  ): Promise<ToolForms[Format]> {
    check(options, TOOLS);
    const { strict = false, ...request } = options;
    return toolDefinitions(await this.toolDefinitions(request), format, { strict });
  }

  /**
   * What a model must be told in its system prompt beside the tools, in Markdown.
   *
   * @throws CallError
   */
  async prompt(options: RequestOptions = {}): Promise<string> {
    return promptOf(await this.toolDefinitions(options));
  }

  /**
   * What the server can do, and its limits.
   *
   * @throws CallError
   */
  async capabilities(options: RequestOptions = {}): Promise<Capabilities> {
    checkRequestOptions(options);
    const method = ToolService.method.getCapabilities;
    return toPlain(await this.#caller.unary(method, create(GetCapabilitiesRequestSchema), "always", options));
  }

  /**
   * Opens a session.
   *
   * @throws CallError with an `fsError` for a `cwd` or root that is no directory beneath the roots
   */
  async openSession(open: OpenSessionOptions = {}): Promise<Session> {
    check(open, OPEN_SESSION);
    const labels: Record<string, string> = {};
    for (const [name, value] of Object.entries(open.labels ?? {})) {
      labels[wellFormed(name, "labels")] = wellFormed(value, `labels.${name}`);
    }
    const message = create(OpenSessionRequestSchema, {
      cwd: wellFormed(open.cwd, "cwd") ?? "",
      roots: allWellFormed(open.roots ?? [], "roots"),
      labels,
      mode: flag(open.readOnly, "readOnly") ? SessionMode.READ_ONLY : SessionMode.WORKSPACE_WRITE,
    });
    // Each call opens one more: it is sent again only when it was not sent at all.
    const response = await this.#caller.unary(SessionService.method.openSession, message, "unsent", open);
    if (response.session === undefined) throw new ProtocolError("an opened session came without its description");
    return new Session(this.#caller, response.sessionId, response.session);
  }

  /**
   * Goes on with a session that was opened before, perhaps by another process.
   *
   * @throws CallError with `SESSION_NOT_FOUND` when there is no such session (any more)
   */
  async resumeSession(id: string, options: RequestOptions = {}): Promise<Session> {
    checkRequestOptions(options);
    const key = { case: "sessionId" as const, value: wellFormed(id, "id") };
    const message = create(GetSessionRequestSchema, { key });
    const response = await this.#caller.unary(SessionService.method.getSession, message, "always", options);
    if (response.session === undefined) throw new ProtocolError("a session came without its description");
    return new Session(this.#caller, id, response.session);
  }

  /**
   * The caller's open sessions, oldest first, fetched a page at a time.
   *
   * @param options `pageSize`: how many a page has, 1 to 1,000
   * @throws CallError
   */
  async *listSessions(options: ListSessionsOptions = {}): AsyncGenerator<SessionInfo, void> {
    check(options, LIST_SESSIONS);
    const pageSize = Number(integer(options.pageSize, "pageSize") ?? 0n);
    let pageToken = "";
    do {
      const message = create(ListSessionsRequestSchema, { pageSize, pageToken });
      const page = await this.#caller.unary(SessionService.method.listSessions, message, "always", options);
      for (const session of page.sessions) yield toPlain(session);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  /**
   * Runs a call outside any session, exactly as a model produced it: under the observation policy it may read and
   * create. What the tool refuses is content for the model, and is not thrown.
   *
   * @throws CallError when the call did not reach a tool
   */
  async call(name: string, args: object | string, options: CallOptions = {}): Promise<ModelReply> {
    return new ModelReply(await execute(this.#caller, "", jsonCall(name, args), options));
  }

  /** What a text of it is. */
  toString(): string {
    return `Toolfs(${this.address})`;
  }

  /** What `console.log` shows. */
  [inspect.custom](): string {
    return this.toString();
  }

  /** Closes the client: the connection, unless another client shares it, and the server of local mode. */
  async close(): Promise<void> {
    this.#caller.close();
    await this.#server?.stop();
  }

  /** The same as `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
