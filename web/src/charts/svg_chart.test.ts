// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { linesAsCsv } from "./chart_files";
import type { Line } from "./curve";
import { svgChart, ticks } from "./svg_chart";

const line: Line = {
  key: "a",
  uid: "a",
  label: '<script>"run"</script>',
  colour: "#0072b2",
  dash: [],
  xs: Float64Array.of(0, 1, 2),
  ys: Float64Array.of(1, NaN, 3),
  marks: [],
  total: 3,
};

test("names stay text in a picture, and NaN is a gap", () => {
  const svg = svgChart("a<b", [line], { x: [0, 2], y: [0, 4] }, { x: "step", logX: false, logY: false });
  expect(svg).toContain("a&lt;b");
  expect(svg).not.toContain("<script>");
  expect(svg.match(/M[\d.]+ [\d.]+M/)).not.toBeNull();
});

test("ticks are round numbers inside of the axis", () => {
  expect(ticks([0, 1], false)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  expect(ticks([0.05, 200], true)).toEqual([0.1, 1, 10, 100]);
});

test("a file of what is drawn has all curves", () => {
  expect(linesAsCsv("loss", [line, { ...line, label: "b" }]).split("\n").length).toBe(8);
});
