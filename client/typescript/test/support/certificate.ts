/** Certificates for one test: an authority, a server's for `localhost` and 127.0.0.1, and a client's. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Identity {
  cert: string;
  key: string;
}

export interface Certificates {
  ca: string;
  server: Identity;
  client: Identity;
}

/** Makes them with the command `openssl`. */
export function makeCertificates(): Certificates {
  const home = mkdtempSync(join(tmpdir(), "toolfs-certificates-"));
  const file = (name: string) => join(home, name);
  const run = (...args: string[]) => execFileSync("openssl", args, { cwd: home, stdio: ["ignore", "ignore", "pipe"] });
  const ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const issue = (name: string, extension: string): Identity => {
    writeFileSync(file(`${name}.ext`), extension);
    run("req", ...ec, "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.csr`);
    const signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"];
    run("x509", "-req", "-in", `${name}.csr`, ...signing, "-extfile", `${name}.ext`, "-out", `${name}.pem`);
    return { cert: readFileSync(file(`${name}.pem`), "utf8"), key: readFileSync(file(`${name}.key`), "utf8") };
  };
  try {
    run("req", "-x509", ...ec, "-subj", "/CN=an authority", "-days", "2", "-keyout", "ca.key", "-out", "ca.pem");
    return {
      ca: readFileSync(file("ca.pem"), "utf8"),
      server: issue("server", "subjectAltName=DNS:localhost,DNS:files.example,IP:127.0.0.1\n"),
      client: issue("client", "extendedKeyUsage=clientAuth\n"),
    };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
