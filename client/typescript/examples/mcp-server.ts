/**
 * The tools as a server of the Model Context Protocol, over standard input and output.
 *
 * Usage, after `npm ci`: npx tsx examples/mcp-server.ts DIRECTORY
 * A process serves one client, and has one session: what one client has read, another has not.
 */
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { Toolfs } from "toolfs";

const directory = process.argv[2] ?? ".";
const client = await Toolfs.local({ root: directory });
const session = await client.openSession();
const list = await client.tools("mcp");
const instructions = await client.prompt();

serveStdio(() => {
  const server = new Server({ name: "toolfs", version: "0.1.0" }, { capabilities: { tools: {} }, instructions });
  server.setRequestHandler("tools/list", () => list);
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const reply = await session.call(params.name, params.arguments ?? {}, { signal: mcpReq.signal });
    return reply.asResult("mcp");
  });
  return server;
});

process.stdin.once("close", async () => {
  await session.close();
  await client.close();
});
