/** A project of somebody who has installed the package: what is tested there is what users get. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { BINARY, cleanEnvironment } from "../support/server.js";

/** Where the package is developed. */
export const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));

const TSC = join(PACKAGE, "node_modules", "typescript", "bin", "tsc");

/** The settings of a compiler that users have, strict. */
const SETTINGS = {
  target: "es2022",
  lib: ["es2023", "esnext.disposable"],
  types: ["node"],
  module: "nodenext",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  // Not all packages pass.
  skipLibCheck: true,
};

/** What a program said. */
export interface Run {
  code: number;
  stdout: string;
  stderr: string;
}

/** A directory of its own, with the built package in `node_modules` and whatever else is named. */
export class Project {
  readonly directory = mkdtempSync(join(tmpdir(), "toolfs-project-"));

  /** Builds the package and installs it, together with packages that are linked to those of development. */
  static async create(...packages: string[]): Promise<Project> {
    const project = new Project();
    try {
      await project.install(packages);
    } catch (error) {
      project.remove();
      throw error;
    }
    return project;
  }

  /** Compiles the TypeScript files of the project, in their places. Throws with what the compiler says. */
  async compile(more: object = {}): Promise<void> {
    const settings = { compilerOptions: { ...SETTINGS, ...more }, include: ["."] };
    writeFileSync(join(this.directory, "tsconfig.json"), JSON.stringify(settings));
    await this.compiler("-p", this.directory);
  }

  /** Runs a module of the project, with the command at hand. */
  async run(module: string, ...args: string[]): Promise<Run> {
    return this.node(join(this.directory, module), ...args);
  }

  /** Runs Node.js in the project, with the command at hand. */
  async node(...args: string[]): Promise<Run> {
    try {
      const options = { cwd: this.directory, env: environment() };
      return { code: 0, ...(await promisify(execFile)(process.execPath, args, options)) };
    } catch (error) {
      return error as Run;
    }
  }

  /** Removes the directory. */
  remove(): void {
    rmSync(this.directory, { recursive: true });
  }

  private async install(packages: readonly string[]): Promise<void> {
    const manifest = readFileSync(join(PACKAGE, "package.json"), "utf8");
    const { dependencies } = JSON.parse(manifest) as { dependencies: object };
    const installed = join(this.directory, "node_modules", "toolfs");
    mkdirSync(installed, { recursive: true });
    writeFileSync(join(installed, "package.json"), manifest);
    for (const name of [...Object.keys(dependencies), ...packages]) {
      const link = join(this.directory, "node_modules", name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(PACKAGE, "node_modules", name), link);
    }
    writeFileSync(join(this.directory, "package.json"), JSON.stringify({ private: true, type: "module" }));
    await this.compiler("-p", join(PACKAGE, "tsconfig.build.json"), "--outDir", join(installed, "dist"));
  }

  private async compiler(...args: string[]): Promise<void> {
    const { code, stdout, stderr } = await this.node(TSC, ...args);
    if (code !== 0) {
      throw new Error(`${stdout}${stderr}`);
    }
  }
}

/** The environment of a user who has named the command. */
export function environment(): Record<string, string> {
  return { ...(cleanEnvironment() as Record<string, string>), TOOLFS_BIN: BINARY };
}
