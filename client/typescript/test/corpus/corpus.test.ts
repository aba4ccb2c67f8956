/** Every case of the corpus, over the layer and the real binary. */
import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { after, describe, test } from "node:test";
import { loadCases } from "./case.js";
import { replay } from "./replay.js";
import { appendReport } from "./report.js";

/** A case waits for its server most of the time. */
const concurrency = Math.min(16, 4 * availableParallelism());

// Modes of new files are part of what is compared.
process.umask(0o022);

const cases = loadCases();
const passed: string[] = [];

test("there are cases", () => {
  assert.ok(cases.length > 100, `${cases.length} cases were found`);
});

describe("the corpus", { concurrency }, () => {
  after(() => {
    const names = cases.map((given) => given.name);
    appendReport(
      passed,
      names.filter((name) => !passed.includes(name)),
    );
  });
  for (const given of cases) {
    test(given.name, async () => {
      const problems = await replay(given);
      assert.deepEqual(problems, []);
      passed.push(given.name);
    });
  }
});
