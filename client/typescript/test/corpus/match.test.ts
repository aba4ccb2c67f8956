/** The matcher fails when it should. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { parseCase } from "./case.js";
import { type Json, parseJson } from "./json.js";
import { Bindings, contentMismatches, faultOf, mismatches } from "./match.js";
import { mustBuild } from "./text.js";

function matches(expected: Json, actual: Json | undefined, bindings = new Bindings()): void {
  assert.deepEqual(mismatches(expected, actual, bindings), []);
}

function differs(expected: Json, actual: Json | undefined, bindings = new Bindings()): void {
  const problems = mismatches(expected, actual, bindings);
  assert.ok(problems.length > 0, `${inspect(expected)} must not match ${inspect(actual)}`);
  for (const problem of problems) assert.match(problem, /^\$/);
}

test("a missing member is a difference, a further one is not", () => {
  matches({ a: 1 }, { a: 1, b: 2 });
  differs({ a: 1, b: 2 }, { a: 1 });
  differs({ a: { b: 1 } }, { a: {} });
  differs({ a: { b: 1 } }, {});
  differs({ a: 1 }, undefined);
  differs({ constructor: { $any: true } }, {});
});

test("an array of another length is a difference", () => {
  matches([1, 2], [1, 2]);
  differs([1, 2], [1]);
  differs([1], [1, 2]);
  differs([1, 2], [2, 1]);
  differs([], [1]);
  differs([1], undefined);
  differs([1], "1");
  matches([], undefined);
});

test("null is for what is absent", () => {
  matches({ a: null }, {});
  differs({ a: null }, { a: 0 });
  differs({ a: null }, { a: "" });
  differs({ a: null }, { a: false });
});

test("a number matches the text that spells it, and nothing near it", () => {
  matches(5, "5");
  matches(5, 5);
  matches(0, "0");
  differs(5, "6");
  differs(5, "5.0");
  differs(5, "five");
  differs(5, true);
  differs(1, true);
  differs(0, false);
  differs(0, undefined);
  differs(5.5, "5");
  differs("5", 5);
});

test("integers that a number cannot hold are told apart", () => {
  matches(parseJson("9223372036854775807"), "9223372036854775807");
  differs(parseJson("9223372036854775807"), "9223372036854775806");
  assert.deepEqual(parseJson('{"a": [9007199254740993, "9007199254740993", 1e30]}'), {
    a: [9007199254740993n, "9007199254740993", 1e30],
  });
});

test("texts and booleans are equal or not", () => {
  matches("a", "a");
  differs("a", "A");
  differs("a", undefined);
  differs(true, false);
  differs(false, undefined);
  differs({}, "a");
});

test("`$any` wants something", () => {
  matches({ $any: true }, "");
  matches({ $any: true }, false);
  differs({ $any: true }, undefined);
});

test("`$contains` looks into texts only", () => {
  matches({ $contains: "b" }, "abc");
  differs({ $contains: "d" }, "abc");
  differs({ $contains: "b" }, ["b"]);
  differs({ $contains: "b" }, undefined);
});

test("a name stands for one value, and two names never for the same", () => {
  const bindings = new Bindings();
  matches({ $bind: "v1" }, "x", bindings);
  matches({ $bind: "v1" }, "x", bindings);
  differs({ $bind: "v1" }, "y", bindings);
  differs({ $bind: "v2" }, "x", bindings);
  differs({ $bind: "v3" }, undefined, bindings);
  matches({ $bind: "v2" }, "y", bindings);
  differs({ a: { $bind: "w" }, b: { $bind: "w" } }, { a: 1, b: 2 });
});

test("every difference is told, by its place", () => {
  const problems = mismatches({ a: 1, b: [1, { c: 2 }] }, { a: 2, b: [1, { c: 3 }] }, new Bindings());
  assert.deepEqual(problems, ["$.a: expected 1, but got 2", "$.b[1].c: expected 2, but got 3"]);
});

test("content is compared whole, or by its pieces", () => {
  assert.deepEqual(contentMismatches("a\n", "a\n"), []);
  assert.equal(contentMismatches("a\n", "a").length, 1);
  assert.equal(contentMismatches("a", undefined).length, 1);
  assert.deepEqual(contentMismatches({ contains: ["a", "b"] }, "ba"), []);
  assert.equal(contentMismatches({ contains: ["a", "c", "d"] }, "ba").length, 2);
});

test("a special member that is unknown or not alone is a fault of the case", () => {
  assert.equal(faultOf({ a: [{ $any: true }], b: { $contains: "x" } }), undefined);
  assert.match(faultOf({ a: [{ $anything: true }] }) ?? "", /unknown/);
  assert.match(faultOf({ a: { $any: true, b: 1 } }) ?? "", /alone/);
});

test("what this runner does not know fails the case", () => {
  const parse = (step: string) => () => parseCase("x", `{"title": "a title", "steps": [${step}]}`);
  assert.equal(parse('{"read": {"file_path": "a"}}')().steps.length, 1);
  assert.throws(parse('{"look": {}}'), /not known here: `look`/);
  assert.throws(parse('{"read": {}, "write": {}}'), /2 verbs/);
  assert.throws(parse("{}"), /0 verbs/);
  assert.throws(parse('{"read": {}, "expect": {"colour": 1}}'), /`colour`/);
  assert.throws(parse('{"read": {}, "expect": {"outcome": {"read": {"$some": 1}}}}'), /`\$some` is unknown/);
  assert.throws(parse('{"parallel": [{"look": {}}]}'), /`look`/);
  assert.throws(() => parseCase("x", '{"title": "t", "steps": [], "extra": 1}'), /`extra`/);
});

test("generated texts are built", () => {
  assert.equal(mustBuild({ concat: ["a", { repeat: "bc", count: 2 }, { lines: 2 }] }), "abcbcline 1\nline 2\n");
  assert.equal(mustBuild({ lines: 0 }), "");
  assert.throws(() => mustBuild({ what: 1 }), /is no text/);
});
