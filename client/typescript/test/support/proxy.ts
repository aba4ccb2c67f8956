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
  /** How many bytes were kept back. */
  held(): number;
  /** Ends all connections, with what was held, and lets later ones through. */
  cut(): void;
  /** Later connections go there instead. */
  redirect(serverAddress: string): void;
  /** Takes no more connections, and ends all there are. */
  vanish(): void;
}

/** Forwards the bytes of a server on a Unix socket. */
export async function startProxy(serverAddress: string): Promise<Proxy> {
  const home = mkdtempSync(join(tmpdir(), "toolfs-proxy-"));
  const sockets = new Set<net.Socket>();
  let isHeld = false;
  let held = 0;
  let target = serverAddress;
  const server = net.createServer((near) => {
    const far = net.connect(target.slice("unix:".length));
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
      if (isHeld) held += bytes.length;
      else near.write(bytes);
    });
  });
  const path = join(home, "proxy.sock");
  server.listen(path);
  await once(server, "listening");
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    isHeld = false;
  };
  return {
    address: `unix:${path}`,
    hold() {
      isHeld = true;
    },
    held: () => held,
    cut,
    redirect(address) {
      target = address;
    },
    vanish() {
      server.close();
      cut();
    },
    async [Symbol.asyncDispose]() {
      if (server.listening) {
        const closed = once(server, "close");
        server.close();
        cut();
        await closed;
      }
      rmSync(home, { recursive: true, force: true });
    },
  };
}
