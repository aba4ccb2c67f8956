/** Something on the way between a client and a server that loses answers. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Proxy extends AsyncDisposable {
  address: string;
  /** From now on nothing that the server says arrives. */
  hold(): void;
  /** Ends all connections, with what was held, and lets later ones through. */
  cut(): void;
}

/** Forwards the bytes of a server on a Unix socket. */
export async function startProxy(serverAddress: string): Promise<Proxy> {
  const home = mkdtempSync(join(tmpdir(), "toolfs-proxy-"));
  const sockets = new Set<net.Socket>();
  let held = false;
  const server = net.createServer((near) => {
    const far = net.connect(serverAddress.slice("unix:".length));
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    far.on("data", (bytes) => {
      if (!held) near.write(bytes);
    });
  });
  const path = join(home, "proxy.sock");
  server.listen(path);
  await once(server, "listening");
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    held = false;
  };
  return {
    address: `unix:${path}`,
    hold() {
      held = true;
    },
    cut,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      cut();
      await closed;
      rmSync(home, { recursive: true, force: true });
    },
  };
}
