// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { DerivedError, evaluate, metricsIn, parseDerived } from "./expression";

const KNOWN = ["val/loss", "train/loss", "loss", "a-b", "log"];
const VALUES: Record<string, number> = { "val/loss": 5, "train/loss": 2, loss: 10, "a-b": 7, log: 3 };
const result = (text: string) => evaluate(parseDerived(text, KNOWN), (name) => VALUES[name] ?? NaN);

test("names may hold what are signs elsewhere", () => {
  expect(result("val/loss - train/loss")).toBe(3);
  expect(result("val/loss-train/loss")).toBe(3);
  expect(result("loss/2")).toBe(5);
  expect(result("a-b + 1")).toBe(8);
  expect(result("`val/loss` / `train/loss`")).toBe(2.5);
});

test("signs have their usual order", () => {
  expect(result("1 + 2 * 3 ^ 2")).toBe(19);
  expect(result("-loss + 1")).toBe(-9);
  expect(result("(1 + 2) * 3 - -1")).toBe(10);
  expect(result("max(loss, 11, 3) / sqrt(4)")).toBe(5.5);
  expect(result("log(exp(2)) + log")).toBeCloseTo(5, 9);
  expect(result("2e-1 * loss")).toBe(2);
});

test("which metrics are needed", () => {
  expect(metricsIn(parseDerived("loss + loss * min(val/loss, 1)", KNOWN))).toEqual(["loss", "val/loss"]);
});

test("what cannot be read says where and why", () => {
  for (const text of [
    "",
    "loss +",
    "nothing - loss",
    "(loss",
    "loss loss",
    "eval(1)",
    "constructor(1)",
    "(".repeat(300),
  ]) {
    expect(() => parseDerived(text, KNOWN), text).toThrow(DerivedError);
  }
});
