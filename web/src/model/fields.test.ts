// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { type Field, parseField, serializeField } from "./fields";

test("fields come back from their text", () => {
  const fields: Field[] = [
    { kind: "plain", name: "status" },
    { kind: "hparam", name: "optimizer.lr" },
    { kind: "hparam", name: 'a "quoted" \\ name' },
    { kind: "hparam", name: "<script>alert(1)</script>" },
    { kind: "metric", name: "val/loss", part: "min" },
    { kind: "metric", name: "val loss", part: "last" },
    { kind: "metric", name: "x.min", part: "max" },
    { kind: "tag", name: "best" },
    { kind: "tag", name: "two\nlines" },
  ];
  for (const field of fields) expect(parseField(serializeField(field))).toEqual(field);
});

test("plain names are written without quotes", () => {
  expect(serializeField({ kind: "metric", name: "val/loss", part: "min" })).toBe("metrics.val/loss.min");
  expect(serializeField({ kind: "hparam", name: "a b" })).toBe('hparams."a b"');
  expect(serializeField({ kind: "hparam", name: "a/b-c.d" })).toBe("hparams.a/b-c.d");
  for (const name of ["a/", "a..b", "a.-b", "a.", "-a"])
    expect(serializeField({ kind: "hparam", name })).toBe(`hparams."${name}"`);
  expect(parseField("nonsense")).toBeUndefined();
});
