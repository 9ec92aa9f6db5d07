// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Curve } from "../../model/curve";
import { derivedCurves, requiredTags } from "./derived_curves";
import { parseDerived } from "./expression";

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

test("means follow from the means of what is between two points, however the other curve was reduced", () => {
  const node = parseDerived("a - b", ["a", "b"]);
  const reduced = (one: Curve, means: number[], counts: number[]): Curve => ({
    ...one,
    total: 1000,
    parts: { means: Float64Array.from(means), counts: Float64Array.from(counts) },
  });
  const lead = reduced(curve("u", "", "a", [0, 100, 200], [9, 9, 9]), [5, 6, 7], [1, 100, 100]);
  const other = reduced(
    curve("u", "", "b", [0, 50, 99, 100, 150], [1, 1, 1, 50, 1]),
    [1, 2, 1, 3, 4],
    [1, 50, 49, 1, 50],
  );
  const [found] = derivedCurves(node, "x", [lead, other]);
  expect([...(found?.parts?.counts ?? [])]).toEqual([1, 100, 100]);
  expect(found?.parts?.means[0]).toBe(4);
  expect(found?.parts?.means[1]).toBeCloseTo(6 - (50 * 2 + 49 * 1 + 1 * 3) / 100, 9);
  expect(found?.parts?.means[2]).toBe(3);
  const late = { ...other, steps: other.steps.map((step) => step + 150) };
  expect([...(derivedCurves(node, "x", [lead, late])[0]?.parts?.means ?? [])].slice(0, 2)).toEqual([NaN, NaN]);
  expect(derivedCurves(node, "x", [curve("u", "", "a", [0], [1]), other])[0]?.parts).toBeUndefined();
});

test("which tags are needed", () => {
  const tags = [
    { tag: "loss", kind: "scalar" as const, logdirs: ["val", "train"], runs: 1, superseded: 0, other_kinds: [] },
    { tag: "acc", kind: "scalar" as const, logdirs: [""], runs: 1, superseded: 0, other_kinds: [] },
  ];
  expect(requiredTags(parseDerived("val/loss + 1", ["val/loss"]), tags)).toEqual(["loss"]);
});
