// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Curve } from "../charts/curve";
import { parseDerived } from "../charts/derived";
import { derivedCurves, tagsBehind } from "./derived_curves";

function curve(uid: string, logdir: string, tag: string, steps: number[], values: number[]): Curve {
  const at = Float64Array.from(steps);
  return { run: 1, uid, logdir, tag, total: steps.length, steps: at, walls: at, values: Float64Array.from(values) };
}

test("a difference of two logdirs, between their points too", () => {
  const node = parseDerived("val/loss - train/loss", ["val/loss", "train/loss"]);
  const curves = [
    curve("a", "val", "loss", [0, 10], [5, 5]),
    curve("a", "train", "loss", [0, 20], [0, 4]),
    curve("b", "val", "loss", [0], [1]),
  ];
  const found = derivedCurves(node, "gap", curves);
  expect(found.length).toBe(1);
  expect([...(found[0]?.values ?? [])]).toEqual([5, 3]);
  expect(found[0]).toMatchObject({ uid: "a", tag: "gap" });
});

test("a tag alone is meant in each logdir", () => {
  const node = parseDerived("loss * 2", ["loss"]);
  const found = derivedCurves(node, "x", [curve("a", "train", "loss", [1], [1]), curve("a", "test", "loss", [1], [3])]);
  expect(found.map((one) => [one.logdir, one.values[0]])).toEqual([
    ["train", 2],
    ["test", 6],
  ]);
});

test("which tags are needed", () => {
  const tags = [
    { tag: "loss", kind: "scalar" as const, logdirs: ["val", "train"], runs: 1 },
    { tag: "acc", kind: "scalar" as const, logdirs: [""], runs: 1 },
  ];
  expect(tagsBehind(parseDerived("val/loss + 1", ["val/loss"]), tags)).toEqual(["loss"]);
});
