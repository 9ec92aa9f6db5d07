// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Line } from "../lines/line";
import { edgeMarks } from "./edge_marks";

const frame = { left: 0, width: 100, x: (value: number) => value, yRange: [0, 4] as const };

function line(more: Partial<Line>): Line {
  const xs = Float64Array.of(10, 12, 50, 90);
  return {
    key: "",
    uid: "",
    label: "",
    colour: "",
    dash: [],
    xs,
    ys: new Float64Array(4),
    marks: [],
    total: 4,
    ...more,
  };
}

test("what the raw curve behind a smoothed one has beyond an edge is marked", () => {
  const xs = Float64Array.of(10, 12, 50, 90);
  const smoothed = line({ xs, ys: Float64Array.of(1, 1, 5, 1), raw: { xs, ys: Float64Array.of(9, 9, 9, -1) } });
  expect(edgeMarks(smoothed, frame)).toEqual([
    { x: 10, kind: "up" },
    { x: 50, kind: "up" },
    { x: 90, kind: "down" },
  ]);
});

test("NaN is marked once, where it is first seen", () => {
  const marks = [10, 30, 50, 90].map((x) => ({ x, kind: "NaN" as const }));
  expect(edgeMarks(line({ marks }), frame)).toEqual([{ x: 10, kind: "cross" }]);
  expect(edgeMarks(line({ marks }), { ...frame, left: 40 })).toEqual([{ x: 50, kind: "cross" }]);
  const infinite = marks.map(({ x }) => ({ x, kind: "∞" as const }));
  expect(edgeMarks(line({ marks: infinite }), frame).length).toBe(4);
});
