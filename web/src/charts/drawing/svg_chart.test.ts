// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Line } from "../lines/line";
import { linesAsCsv } from "./chart_files";
import { svgChart } from "./svg_chart";

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
  const svg = svgChart("a<b", [line], { x: [0, 2], y: [0, 4] }, { x: "step", logX: false, logY: false, bands: true });
  expect(svg).toContain("a&lt;b");
  expect(svg).not.toContain("<script>");
  expect(svg.match(/M[\d.]+ [\d.]+M/)).not.toBeNull();
});

test("what an axis cannot show is marked: NaN, infinities, and values beyond an edge", () => {
  const marked: Line = {
    ...line,
    xs: Float64Array.of(0, 1, 2, 3, 4),
    ys: Float64Array.of(1, NaN, 9, -9, Infinity),
    marks: [
      { x: 1, kind: "NaN" },
      { x: 4, kind: "∞" },
    ],
  };
  const axes = { x: "step", logX: false, logY: false, bands: true } as const;
  const svg = svgChart("marks", [marked], { x: [0, 4], y: [0, 4] }, axes);
  const told = [...svg.matchAll(/opacity="0.9"><title>(\w+)<\/title>/g)].map((found) => found[1]);
  expect(told).toEqual(["NaN", "above", "above", "below", "above"]);
  expect(svgChart("marks", [marked], { x: [2.5, 3.5], y: [0, 4] }, axes).match(/opacity="0.9"/g)?.length).toBe(1);
});

test("marks at the first step are not clipped", () => {
  const first: Line = { ...line, ys: Float64Array.of(99, 1, 1) };
  const svg = svgChart("", [first], { x: [0, 2], y: [0, 4] }, AXES);
  expect(svg.indexOf("<title>above</title>")).toBeGreaterThan(svg.indexOf("</g>"));
});

const AXES = { x: "step", logX: false, logY: false, bands: true } as const;

test("points that stand alone are drawn", () => {
  const gap = svgChart("", [line], { x: [0, 2], y: [0, 4] }, AXES);
  expect(gap.match(/<circle /g)?.length).toBe(2);
  const one = { ...line, xs: Float64Array.of(5), ys: Float64Array.of(1) };
  expect(svgChart("", [one], { x: [0, 9], y: [0, 4] }, AXES).match(/<circle /g)?.length).toBe(1);
  const whole = { ...line, ys: Float64Array.of(1, 2, 3) };
  expect(svgChart("", [whole], { x: [0, 2], y: [0, 4] }, AXES)).not.toContain("<circle");
});

function bandOf(low: number[], high: number[], logY: boolean): string {
  const xs = Float64Array.from(low.keys());
  const band = { low: Float64Array.from(low), high: Float64Array.from(high) };
  const made = svgChart("", [{ ...line, xs, ys: band.high, band }], { x: [0, 5], y: [1, 100] }, { ...AXES, logY });
  return /<path d="([^"]*)" fill="[^"]*" opacity="0.18"/.exec(made)?.[1] ?? "";
}

test("a band ends at a gap", () => {
  expect(bandOf([1, 1, NaN, 1, 1], [2, 2, NaN, 2, 2], false).match(/Z/g)?.length).toBe(2);
});

test("a band that reaches below zero runs to the bottom of a logarithmic axis", () => {
  expect(bandOf([-5, 0, 2], [10, 10, 10], true)).toBe(bandOf([1, 1, 2], [10, 10, 10], true));
  expect(bandOf([-5, -5], [-1, 0], true)).toBe("");
});

test("a file of what is drawn has all curves", () => {
  expect(linesAsCsv("loss", [line, { ...line, label: "b" }]).split("\n").length).toBe(8);
});
