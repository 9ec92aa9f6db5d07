// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Curve } from "../../model/curve";
import type { RunStyle } from "./run_styles";
import { isMuchNarrower, stepWindows, wallWindows } from "./zoom_windows";

function curve(run: number, values: number[], more: Partial<Curve> = {}): Curve {
  return {
    run,
    uid: String(run),
    logdir: "",
    tag: "loss",
    total: values.length,
    steps: Float64Array.from(values.keys(), (at) => at * 10),
    walls: Float64Array.from(values.keys(), (at) => 1000 * run + at),
    values: Float64Array.from(values),
    ...more,
  };
}

function styles(...starts: number[]): Map<string, RunStyle> {
  const rest = { label: "", colour: "red", group: undefined, moments: [] };
  return new Map(
    starts.map((start, at) => [String(at + 1), { ...rest, uid: String(at + 1), number: at + 1, start }] as const),
  );
}

test("the same time since the start is another wall time of each run", () => {
  const found = wallWindows([10, 20], [curve(1, [1]), curve(2, [1])], styles(990, 1950));
  expect([...found]).toEqual([
    [1, { since: 1000, until: 1010 }],
    [2, { since: 1960, until: 1970 }],
  ]);
});

test("curves of one run that begin before it are all within its window", () => {
  const early = curve(1, [1], { logdir: "early", walls: Float64Array.of(900) });
  const part = curve(1, [1], { logdir: "part", first: 800 });
  expect([...wallWindows([10, 20], [curve(1, [1]), early, part], styles(990))]).toEqual([
    [1, { since: 810, until: 1010 }],
  ]);
  expect(wallWindows([10, 20], [curve(7, [1])], styles(990)).size).toBe(0);
});

test("values of a metric are steps from the first to the last that may have them", () => {
  const rising = curve(1, [0, 1, 2, 3, 4, 5]);
  expect([...stepWindows([2.5, 3.5], [rising, curve(2, [5, 4, 3, 2])])]).toEqual([
    [1, { fromStep: 20, toStep: 40 }],
    [2, { fromStep: 10, toStep: 30 }],
  ]);
});

test("a way between two points leads through a part that has none of them", () => {
  expect([...stepWindows([1.4, 1.6], [curve(1, [0, 1, 2, 3])])]).toEqual([[1, { fromStep: 10, toStep: 20 }]]);
});

test("a metric that was there twice is asked for from the first time to the last", () => {
  expect([...stepWindows([3, 9], [curve(1, [0, 4, 0, 0, 4, 0])])]).toEqual([[1, { fromStep: 0, toStep: 50 }]]);
});

test("what is no number leads nowhere, and runs without such values have no window", () => {
  expect([...stepWindows([0.5, 5], [curve(1, [0, NaN, 2, NaN, 9])])]).toEqual([[1, { fromStep: 20, toStep: 20 }]]);
  expect(stepWindows([100, 200], [curve(1, [0, 1, 2])]).size).toBe(0);
});

test("asking again is worth it where a window shrinks", () => {
  const wide = new Map([[1, { fromStep: 0, toStep: 100 }]]);
  expect(isMuchNarrower(new Map([[1, { fromStep: 40, toStep: 60 }]]), wide)).toBe(true);
  expect(isMuchNarrower(new Map([[1, { fromStep: 20, toStep: 90 }]]), wide)).toBe(false);
  expect(isMuchNarrower(new Map(), wide)).toBe(true);
});
