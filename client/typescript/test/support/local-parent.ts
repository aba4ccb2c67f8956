/** A process with a server of its own, which ends in the way that its argument names. */
import { LocalServerError, Toolfs } from "../../src/index.js";
import { startLocalServer } from "../../src/local.js";

const [ending, root = "."] = process.argv.slice(2);

if (ending === "public") {
  // Through the public door, and never closed.
  const client = await Toolfs.local({ root });
  const session = await client.openSession();
  await session.write({ file_path: "a.txt", content: "written\n" });
  console.log("done");
} else {
  const server = await startLocalServer({ root });
  console.log(`server ${server.pid}`);
  if (ending === "exit") process.exit(0);
  if (ending === "throw") throw new LocalServerError("thrown on purpose");
  if (ending === "wait") setInterval(() => {}, 1_000);
}
