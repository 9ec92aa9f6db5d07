// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Line } from "../lines/line";
import { chartRanges, type RangeOptions } from "./chart_ranges";

const OPTIONS: RangeOptions = { zoom: null, logX: false, logY: false, outliers: false, bands: true };

function line(xs: number[], ys: number[], more: Partial<Line> = {}): Line {
  const columns = { xs: Float64Array.from(xs), ys: Float64Array.from(ys) };
  return { key: "a", uid: "a", label: "a", colour: "red", dash: [], marks: [], total: xs.length, ...columns, ...more };
}

test("a line that only passes through the window is seen there", () => {
  const sparse = line([0, 1000, 2000], [9, 2, 3]);
  const [low, high] = chartRanges([sparse], { ...OPTIONS, zoom: [1200, 1400] }).y;
  expect(low).toBeGreaterThan(2.1);
  expect(low).toBeLessThan(2.2);
  expect(high).toBeGreaterThan(2.4);
  expect(high).toBeLessThan(2.5);
  const dense = line([1200, 1300, 1400], [0.5, 0.4, 0.5]);
  const both = chartRanges([dense, sparse], { ...OPTIONS, zoom: [1200, 1400] }).y;
  expect(both[0]).toBeLessThan(0.4);
  expect(both[1]).toBeGreaterThan(2.4);
});

test("what is drawn between an edge and the first point inside has its place, bands too", () => {
  const band = { low: Float64Array.of(-9, 0, 0, 0), high: Float64Array.of(2, 2, 2, 12) };
  const group = line([0, 100, 200, 300], [1, 1, 1, 1], { band });
  const [low, high] = chartRanges([group], { ...OPTIONS, zoom: [50, 250] }).y;
  expect(low).toBeLessThan(-4.5);
  expect(low).toBeGreaterThan(-6);
  expect(high).toBeGreaterThan(7);
  expect(high).toBeLessThan(8);
});

test("the height at an edge is that of the line as it is drawn, also between logarithmic axes", () => {
  const zoom = [100, 100.001] as const;
  const far = line([1, 10_000], [1, 10_000]);
  const [low, high] = chartRanges([far], { ...OPTIONS, zoom, logX: true }).y;
  expect((low + high) / 2).toBeCloseTo(5000.5, 0);
  const both = chartRanges([far], { ...OPTIONS, zoom, logX: true, logY: true }).y;
  expect(Math.sqrt(both[0] * both[1])).toBeCloseTo(100, 2);
});

test("nothing is between a point and NaN, nor before the first one", () => {
  const gap = line([0, 10, 20], [5, NaN, 5]);
  for (const zoom of [
    [2, 4],
    [-9, -8],
    [30, 40],
  ] as const)
    expect(chartRanges([gap], { ...OPTIONS, zoom }).y).toEqual([0, 1]);
});

test("a raw curve behind a smoothed one has its place, but its outliers make no axis", () => {
  const xs = Array.from({ length: 100 }, (_, at) => at);
  const calm = xs.map(() => 1);
  const raw = (peak: number) => ({
    xs: Float64Array.from(xs),
    ys: Float64Array.from(xs, (at) => (at === 50 ? peak : 1)),
  });
  const smoothed = line(xs, calm, { raw: raw(7) });
  expect(chartRanges([smoothed], OPTIONS).y[1]).toBeGreaterThan(7);
  expect(chartRanges([smoothed], { ...OPTIONS, outliers: true }).y[1]).toBeLessThan(2);
});
