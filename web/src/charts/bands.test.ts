// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { banded } from "./bands";

test("a band keeps the extremes of every bucket, and the line its last number", () => {
  const xs = Float64Array.from({ length: 9 }, (_, at) => at);
  const ys = Float64Array.of(1, 9, 2, 3, NaN, -5, 4, 4, NaN);
  const out = banded(xs, ys, 3);
  expect([...out.low]).toEqual([1, -5, 4]);
  expect([...out.high]).toEqual([9, 3, 4]);
  expect([...out.ys]).toEqual([2, -5, 4]);
  expect([...out.xs]).toEqual([2, 5, 7]);
});

test("few points stay as they are, and NaN alone is NaN", () => {
  const out = banded(Float64Array.of(1, 2), Float64Array.of(NaN, 7), 10);
  expect([...out.xs]).toEqual([1, 2]);
  expect(out.low[0]).toBeNaN();
  expect(out.high[1]).toBe(7);
});
