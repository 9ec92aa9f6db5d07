// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { aggregateCurves } from "./grouping";

const curve = (xs: number[], ys: number[]) => ({ xs: Float64Array.from(xs), ys: Float64Array.from(ys) });

test("mean, range and number of curves at every place", () => {
  const out = aggregateCurves([curve([0, 10], [0, 10]), curve([0, 5, 10], [2, 9, 12])], "mean", "range");
  expect([...out.xs]).toEqual([0, 5, 10]);
  expect([...out.ys]).toEqual([1, 7, 11]);
  expect([...out.low]).toEqual([0, 5, 10]);
  expect([...out.high]).toEqual([2, 9, 12]);
  expect([...out.counts]).toEqual([2, 2, 2]);
});

test("a curve that ended early no longer counts, nor does NaN", () => {
  const out = aggregateCurves([curve([0, 1], [4, 4]), curve([0, 1, 2], [8, NaN, 8])], "mean", "range");
  expect([...out.counts]).toEqual([2, 1, 1]);
  expect([...out.ys]).toEqual([6, 4, 8]);
});

test("a range has the peaks between the places that are drawn", () => {
  const many = Array.from({ length: 5000 }, (_, at) => at);
  const ys = (peak: number) => many.map((at) => (at === peak ? 50 : 1));
  const out = aggregateCurves([curve(many, ys(1234)), curve(many, ys(4003))], "mean", "range");
  expect(out.xs.length).toBeLessThan(1000);
  const high = (at: number) => out.high[out.xs.findIndex((x) => x >= at)];
  expect([high(1234), high(4003), high(2000)]).toEqual([50, 50, 1]);
  expect(Math.min(...out.low)).toBe(1);
});

test("deviation and confidence", () => {
  const three = [1, 2, 3].map((y) => curve([0], [y]));
  expect(aggregateCurves(three, "mean", "deviation").high[0]).toBeCloseTo(3, 9);
  expect(aggregateCurves(three, "mean", "confidence").high[0]).toBeCloseTo(2 + 4.303 / Math.sqrt(3), 6);
  expect(aggregateCurves(three, "median", "none").low[0]).toBe(2);
  expect(aggregateCurves([curve([0], [5])], "mean", "deviation").high[0]).toBe(5);
});
