// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Curve } from "../charts/curve";
import { linesOf, type LineOptions } from "./chart_lines";
import type { RunLook } from "./run_looks";

const OPTIONS: LineOptions = { x: "step", smoothing: "none", amount: 0.6, centre: "mean", area: "range", most: 100 };

function curve(uid: string, values: number[], more: Partial<Curve> = {}): Curve {
  const steps = Float64Array.from(values.keys());
  return {
    run: 1,
    uid,
    logdir: "",
    tag: "loss",
    total: values.length,
    steps,
    walls: steps.map((at) => 1000 + at),
    values: Float64Array.from(values),
    ...more,
  };
}

function looks(...names: string[]): Map<string, RunLook> {
  return new Map(
    names.map((uid) => [uid, { uid, number: 1, label: uid, colour: "red", group: undefined, start: 990, moments: [] }]),
  );
}

test("few points are drawn as they are, NaN as a mark", () => {
  const [line] = linesOf([curve("a", [1, NaN, 3])], looks("a"), OPTIONS);
  expect([...(line?.ys ?? [])]).toEqual([1, NaN, 3]);
  expect(line?.marks).toEqual([{ x: 1, kind: "NaN" }]);
  expect(line?.band).toBeUndefined();
});

test("what was reduced has a band that keeps the extremes", () => {
  const values = Array.from({ length: 1000 }, (_, at) => (at === 500 ? 99 : 0));
  const [line] = linesOf([curve("a", values)], looks("a"), OPTIONS);
  expect(line?.xs.length).toBeLessThanOrEqual(100);
  expect(Math.max(...(line?.band?.high ?? []))).toBe(99);
});

test("axes: relative to the start, and another metric", () => {
  const relative = linesOf([curve("a", [1, 2])], looks("a"), { ...OPTIONS, x: "relative" });
  expect([...(relative[0]?.xs ?? [])]).toEqual([10, 11]);
  const along = curve("a", [5, 4]);
  const other = linesOf([curve("a", [1, 2])], looks("a"), { ...OPTIONS, x: "metric" }, [along]);
  expect([...(other[0]?.xs ?? [])]).toEqual([4, 5]);
  expect([...(other[0]?.ys ?? [])]).toEqual([2, 1]);
});

test("runs of a group become one line that says how many they are", () => {
  const both = looks("a", "b");
  for (const look of both.values()) look.group = "lr = 1";
  const lines = linesOf([curve("a", [1, 1]), curve("b", [3, 3])], both, OPTIONS);
  expect(lines.length).toBe(1);
  expect([...(lines[0]?.ys ?? [])]).toEqual([2, 2]);
  expect(lines[0]?.label).toContain("2 runs");
});

test("logdirs of one run are told apart by their dashes, and a run that nobody chose is not drawn", () => {
  const lines = linesOf(
    [curve("a", [1], { logdir: "train" }), curve("a", [1], { logdir: "test" }), curve("x", [1])],
    looks("a"),
    OPTIONS,
  );
  expect(lines.length).toBe(2);
  expect(lines[0]?.dash).not.toEqual(lines[1]?.dash);
});
