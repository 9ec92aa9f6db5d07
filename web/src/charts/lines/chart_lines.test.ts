// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Curve } from "../../model/curve";
import { buildLines, type LineOptions } from "./chart_lines";
import type { RunStyle } from "./run_styles";

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

function styles(...names: string[]): Map<string, RunStyle> {
  return new Map(
    names.map((uid) => [uid, { uid, number: 1, label: uid, colour: "red", group: undefined, start: 990, moments: [] }]),
  );
}

test("few points are drawn as they are, NaN as a mark", () => {
  const [line] = buildLines([curve("a", [1, NaN, 3])], styles("a"), OPTIONS);
  expect([...(line?.ys ?? [])]).toEqual([1, NaN, 3]);
  expect(line?.marks).toEqual([{ x: 1, kind: "NaN" }]);
  expect(line?.band).toBeUndefined();
});

test("a reduced line goes through every peak, a smoothed one has them in its band", () => {
  const values = Array.from({ length: 1000 }, (_, at) => (at % 90 === 5 ? 99 : 0));
  const peaks = values.filter((value) => value === 99).length;
  const [line] = buildLines([curve("a", values)], styles("a"), OPTIONS);
  expect(line?.xs.length).toBeLessThanOrEqual(202);
  expect(line?.ys.filter((y) => y === 99).length).toBe(peaks);
  expect([line?.xs[0], line?.xs.at(-1)]).toEqual([0, 999]);
  expect(line?.walls?.at(-1)).toBe(1999);
  const [calm] = buildLines([curve("a", values)], styles("a"), SMOOTH);
  expect(calm?.band?.high.filter((y) => y === 99).length).toBe(peaks);
});

test("axes: relative to the start, and another metric", () => {
  const relative = buildLines([curve("a", [1, 2])], styles("a"), { ...OPTIONS, x: "relative" });
  expect([...(relative[0]?.xs ?? [])]).toEqual([10, 11]);
  const along = curve("a", [5, 4]);
  const other = buildLines([curve("a", [1, 2])], styles("a"), { ...OPTIONS, x: "metric" }, [along]);
  expect([...(other[0]?.xs ?? [])]).toEqual([4, 5]);
  expect([...(other[0]?.ys ?? [])]).toEqual([2, 1]);
});

test("runs of a group become one line that says how many they are", () => {
  const both = styles("a", "b");
  for (const look of both.values()) look.group = "lr = 1";
  const lines = buildLines([curve("a", [1, 1]), curve("b", [3, 3])], both, OPTIONS);
  expect(lines.length).toBe(1);
  expect([...(lines[0]?.ys ?? [])]).toEqual([2, 2]);
  expect(lines[0]?.label).toContain("2 runs");
});

test("the centre of a group is that of all points, and its range has the extremes that were kept", () => {
  const both = styles("a", "b");
  for (const look of both.values()) look.group = "lr = 1";
  const parts = { means: Float64Array.of(1.1, 1.1, 1.1), counts: Float64Array.of(100, 100, 100) };
  const members = ["a", "b"].map((uid) => curve(uid, [1, 11, 1], { total: 300, parts }));
  const [line] = buildLines(members, both, OPTIONS);
  expect([...(line?.ys ?? [])]).toEqual([1.1, 1.1, 1.1]);
  expect(Math.max(...(line?.band?.high ?? []))).toBe(11);
  expect(Math.min(...(line?.band?.low ?? []))).toBe(1);
});

test("a group is marked where any of its runs has no number", () => {
  const both = styles("a", "b");
  for (const look of both.values()) look.group = "lr = 1";
  const [line] = buildLines([curve("a", [1, 1, NaN, 1]), curve("b", [Infinity, 3, NaN, -Infinity])], both, OPTIONS);
  expect(line?.marks).toEqual([
    { x: 0, kind: "∞" },
    { x: 2, kind: "NaN" },
    { x: 3, kind: "−∞" },
  ]);
});

test("a part of a curve stands where it does in the whole one", () => {
  const part = curve("a", [1, 2], { walls: Float64Array.of(1500, 1501), first: 980 });
  const [line] = buildLines([part], styles("a"), { ...OPTIONS, x: "relative" });
  expect([...(line?.xs ?? [])]).toEqual([520, 521]);
});

const SMOOTH: LineOptions = { ...OPTIONS, smoothing: "mean", amount: 1 };

/** Every second point is a peak that stands for itself, the others for 999 points at 0.1. */
function peaked(uid: string): Curve {
  const values = Array.from({ length: 200 }, (_, at) => (at % 2 ? 10 : 0.1));
  const counts = Float64Array.from(values, (_, at) => (at % 2 ? 1 : 999));
  return curve(uid, values, { total: 100_000, parts: { means: Float64Array.from(values), counts } });
}

test("a reduced curve is smoothed by what its points stand for, along every axis and in groups", () => {
  const along = [
    curve(
      "a",
      Array.from({ length: 200 }, (_, at) => 200 - at),
    ),
  ];
  for (const x of ["step", "wall", "relative", "metric"] as const) {
    const [line] = buildLines([peaked("a")], styles("a"), { ...SMOOTH, x }, along);
    for (const y of line?.ys ?? []) expect(y).toBeCloseTo(0.11, 2);
    expect(Math.max(...(line?.band?.high ?? []))).toBe(10);
  }
  const both = styles("a", "b");
  for (const look of both.values()) look.group = "lr = 1";
  const [line] = buildLines([peaked("a"), peaked("b")], both, SMOOTH);
  for (const y of line?.ys ?? []) expect(y).toBeCloseTo(0.11, 2);
});

test("beside steps beyond 2^53 all lines tell their steps", () => {
  const far = 2n ** 60n;
  const exact = BigInt64Array.of(far, far + 1n);
  const long = curve("a", [1, 2], { exact, steps: Float64Array.from(exact, Number) });
  const lines = buildLines([long, curve("b", [1, 2], { steps: Float64Array.of(7, 9) })], styles("a", "b"), OPTIONS);
  expect(lines.map((line) => [...(line.exact ?? [])])).toEqual([
    [far, far + 1n],
    [7n, 9n],
  ]);
  expect([...(lines[1]?.xs ?? [])]).toEqual([0, 2]);
});

test("superseded points are faint lines of their own, as they were logged and in no group", () => {
  const old = curve("a", [5, NaN, 7], { isSuperseded: true });
  const lines = buildLines([curve("a", [1, 2, 3]), old, old], styles("a"), SMOOTH);
  expect(lines.map((line) => line.isFaint ?? false)).toEqual([true, true, false]);
  expect([...(lines[0]?.ys ?? [])]).toEqual([5, NaN, 7]);
  expect(lines[0]).toMatchObject({ uid: "a", label: "a · superseded", marks: [] });
  expect(new Set(lines.map((line) => line.key)).size).toBe(3);
  const grouped = styles("a");
  for (const look of grouped.values()) look.group = "lr = 1";
  expect([...(buildLines([curve("a", [1, 2, 3]), old], grouped, OPTIONS)[0]?.ys ?? [])]).toEqual([1, 2, 3]);
});

test("logdirs of one run are told apart by their dashes, and a run that nobody chose is not drawn", () => {
  const lines = buildLines(
    [curve("a", [1], { logdir: "train" }), curve("a", [1], { logdir: "test" }), curve("x", [1])],
    styles("a"),
    OPTIONS,
  );
  expect(lines.length).toBe(2);
  expect(lines[0]?.dash).not.toEqual(lines[1]?.dash);
});
