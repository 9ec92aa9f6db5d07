// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { complete } from "./completion";

const FIELDS = { hparams: ["lr", "a b"], metrics: ["val/loss", "loss"], tags: ["team", "my tag"] };
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

test("tags are offered by their names", () => {
  expect(texts("tags.")).toEqual(["tags.team", 'tags."my tag"']);
  expect(complete("tag", 3, { ...FIELDS, tags: [] }).items.map((item) => item.text)).toEqual(["tags."]);
});

const request = (text: string) => complete(text, text.length, FIELDS).request;

test("the server is asked for values of fields that have some", () => {
  expect(request("hparams.lr == 0.0")).toEqual({ field: "hparams.lr", prefix: "0.0" });
  expect(request('hparams."a b" == ')).toEqual({ field: 'hparams."a b"', prefix: "" });
  expect(request('tags."my tag" != "a \\"b')).toEqual({ field: 'tags."my tag"', prefix: 'a "b' });
  expect(request("user in ['an")).toEqual({ field: "user", prefix: "an" });
  expect(request('user not in ["ann", ')).toEqual({ field: "user", prefix: "" });
  expect(request('experiment not contains "e')).toEqual({ field: "experiment", prefix: "e" });
});

test("it is not asked where it has no answer, or none is wanted", () => {
  for (const text of [
    "",
    "hparams.lr ",
    "hparams.unknown == ",
    "tags.unknown == ",
    "metrics.loss == ",
    'status == "r',
    "created > ",
    'user == "ann"',
    'user == "ann" ',
    'user like "a',
  ])
    expect(request(text), text).toBeUndefined();
});

test("values that the server told are offered where they fit", () => {
  const told = { field: "hparams.lr", prefix: "", texts: ['"adam"', "0.1", "true", '"a \\"b\\""'] };
  const offered = (text: string, field = "hparams.lr") =>
    complete(text, text.length, FIELDS, { ...told, field }).items.map((item) => item.text);
  expect(offered("hparams.lr == ")).toEqual(told.texts);
  expect(offered("hparams.lr < ")).toEqual(['"adam"', "0.1", '"a \\"b\\""']);
  expect(offered("hparams.lr contains ")).toEqual(['"adam"', '"a \\"b\\""']);
  expect(offered("hparams.lr == 'AD")).toEqual(['"adam"']);
  expect(offered("hparams.lr == ad")).toEqual(['"adam"']);
  expect(offered("hparams.lr == 'a \"b")).toEqual(['"a \\"b\\""']);
  expect(offered("hparams.lr == ", "user")).toEqual([]);
});
