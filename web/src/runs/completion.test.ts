// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { complete } from "./completion";

const FIELDS = { hparams: ["lr", "a b"], metrics: ["val/loss", "loss"] };
const texts = (text: string) => complete(text, text.length, FIELDS).items.map((item) => item.text);

test("fields are found by their beginning and by a part of them", () => {
  expect(texts("stat")[0]).toBe("status");
  expect(texts("lr")).toContain("hparams.lr");
  expect(texts("metrics.v")[0]).toBe("metrics.val/loss");
  expect(texts("metrics.val/loss.m")).toEqual(expect.arrayContaining(["metrics.val/loss.min", "metrics.val/loss.max"]));
  expect(texts('hparams."a')).toContain('hparams."a b"');
});

test("after a field come operators, after an operator values, then the next condition", () => {
  expect(texts("hparams.lr ")).toContain("<");
  expect(texts('status == "r')).toEqual(['"running"']);
  expect(texts("status in [")).toContain('"failed"');
  expect(texts("created > ")).toContain("now - 7d");
  expect(texts('status == "running" ')).toEqual(["and", "or"]);
  expect(texts('status == "running" and lo')).toContain("metrics.loss");
});

test("a suggestion replaces the word that is being typed", () => {
  const found = complete("hparams.lr < 1 and stat", 23, FIELDS);
  expect([found.from, found.to]).toEqual([19, 23]);
});
