// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { HistogramEntry } from "../../data/files";
import { highestShare, histogramOutline, histogramSpan, shares } from "./histogram_outline";

function histogram(lefts: number[], rights: number[], counts: number[]): HistogramEntry {
  return { step: 0, wall_time: 0, lefts, rights, counts } as HistogramEntry;
}

const narrow = histogram([0], [1], [10]);
const wide = histogram([-1, 1], [1, 3], [500, 500]);
const sum = (values: number[]): number => values.reduce((all, one) => all + one, 0);

test("one axis holds the values of all", () => {
  expect(histogramSpan([narrow, wide])).toEqual({ low: -1, high: 3 });
  expect(histogramSpan([histogram([-8, 0], [0, 1], [0, 3])])).toEqual({ low: 0, high: 1 });
  expect(histogramSpan([histogram([0], [1], [0])])).toBeUndefined();
});

test("shares are of the own values, however many there are and however wide buckets are", () => {
  const span = { low: -1, high: 3 };
  expect(sum(shares(narrow, span))).toBeCloseTo(1);
  expect(sum(shares(wide, span))).toBeCloseTo(1);
  expect(shares(narrow, span)[20]).toBeCloseTo(4 * (shares(wide, span)[20] ?? 0));
  expect(highestShare([narrow, wide], span)).toBeCloseTo(1 / 15);
});

test("a bucket next to nothing wide does not flatten the others", () => {
  const span = { low: 0, high: 60 };
  const spiked = histogram([0, 30, 30 + 1e-9], [30, 30 + 1e-9, 60], [30, 1, 29]);
  expect(highestShare([spiked], span)).toBeLessThan(0.04);
});

test("values that are all the same stand in the middle", () => {
  const same = histogram([2], [2], [7]);
  const span = histogramSpan([same]);
  expect(span && shares(same, span).indexOf(1)).toBe(30);
});

test("an outline closes at the ground", () => {
  const outline = histogramOutline(wide, { low: -1, high: 3 });
  expect(outline.startsWith("M0 94L0.0 4.0L4.0 4.0")).toBe(true);
  expect(outline.endsWith("L240 94Z")).toBe(true);
});
