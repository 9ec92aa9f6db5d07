// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Curve } from "../../model/curve";
import type { Annotation } from "../../model/wire";
import { findMoments } from "./moments";
import type { RunStyle } from "./run_styles";

const LOOK: RunStyle = { uid: "a", number: 1, label: "a", colour: "red", group: undefined, start: 990, moments: [] };
const CURVE: Curve = {
  run: 1,
  uid: "a",
  logdir: "",
  tag: "loss",
  total: 4,
  steps: Float64Array.of(0, 10, 20, 30),
  walls: Float64Array.of(1000, 1001, 1002, 1003),
  values: Float64Array.of(1, 2, 3, 4),
};

function places(x: "step" | "relative" | "wall" | "metric", one: Partial<Annotation>): number[] {
  const said = { run: "a", name: "event", step: null, wall_time: null, data: {}, ...one };
  return findMoments([CURVE], new Map([["a", LOOK]]), x, new Map([["a", [said]]])).map((mark) => mark.x);
}

test("an attempt stands at the step that came after it", () => {
  const look = { ...LOOK, moments: [{ time: 1001.5, label: "attempt 2" }] };
  const found = findMoments([CURVE], new Map([["a", look]]), "step", new Map());
  expect(found[0]).toMatchObject({ x: 20, label: "a: attempt 2" });
});

test("an annotation stands at its step, or where the run was at its time", () => {
  expect(places("step", { step: 15, wall_time: 1002 })).toEqual([15]);
  expect(places("step", { wall_time: 1001.5 })).toEqual([20]);
  expect(places("wall", { step: 15, wall_time: 1002 })).toEqual([1002]);
  expect(places("relative", { wall_time: 1002 })).toEqual([12]);
  expect(places("metric", { step: 15, wall_time: 1002 })).toEqual([]);
});

test("what was said at the end stands at the end", () => {
  expect(places("step", { wall_time: 2000 })).toEqual([30]);
});

test("an annotation tells its name and what it holds", () => {
  const said = { run: "a", name: "best", step: 1, wall_time: null, data: { score: 0.5, at: "now" } };
  const [mark] = findMoments([CURVE], new Map([["a", LOOK]]), "step", new Map([["a", [said]]]));
  expect(mark?.label).toBe("a: best (score 0.5, at now)");
});
