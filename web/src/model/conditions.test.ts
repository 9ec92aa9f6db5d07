// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { condition, conjuncts, nameCondition, withCondition, withoutCondition } from "./conditions";

test("conditions are written as the language wants them", () => {
  expect(condition({ kind: "hparam", name: "lr" }, "==", 0.1)).toBe("hparams.lr == 0.1");
  expect(condition({ kind: "hparam", name: "opt" }, "!=", 'a"b')).toBe('hparams.opt != "a\\"b"');
  expect(condition({ kind: "metric", name: "loss", part: "last" }, "==", "NaN")).toBe("metrics.loss.last is nan");
  expect(condition({ kind: "plain", name: "number" }, "<", "9007199254740993")).toBe("number < 9007199254740993");
  expect(condition({ kind: "tag", name: "best" }, "==", undefined)).toBe("tags.best is none");
});

test("what is looked for is part of a name, or the number of a run", () => {
  expect(nameCondition(" adam-1 ")).toBe('name ilike "%adam-1%"');
  expect(nameCondition('50%_"')).toBe('name ilike "%50\\\\%\\\\_\\"%"');
  expect(nameCondition("run12")).toBe('(name ilike "%run12%" or number == 12)');
});

test("the parts of a filter", () => {
  expect(conjuncts('a == 1 and name == "x and y" and (b or c and d)')).toEqual([
    "a == 1",
    'name == "x and y"',
    "(b or c and d)",
  ]);
  expect(conjuncts("a or b and c")).toEqual(["a or b and c"]);
  expect(conjuncts("cifar or-tools and a == 1")).toEqual(["cifar or-tools", "a == 1"]);
  expect(conjuncts("  ")).toEqual([]);
});

test("a condition is added once, and an `or` keeps its meaning", () => {
  expect(withCondition("", "a == 1")).toBe("a == 1");
  expect(withCondition("b == 2", "a == 1")).toBe("b == 2 and a == 1");
  expect(withCondition("a == 1 and b == 2", "a == 1")).toBe("a == 1 and b == 2");
  expect(withCondition("x or y", "a == 1")).toBe("(x or y) and a == 1");
  expect(withoutCondition("a == 1 and b == 2", "a == 1")).toBe("b == 2");
});
