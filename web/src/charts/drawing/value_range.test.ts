// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { valueRange } from "./value_range";

const plain = { outliers: false, log: false };

test("an axis shows all numbers, with a little room", () => {
  const [low, high] = valueRange(Float64Array.of(1, 2, 3, NaN, Infinity), plain);
  expect(low).toBeLessThan(1);
  expect(low).toBeGreaterThan(0.5);
  expect(high).toBeGreaterThan(3);
});

test("one value, or none, still makes an axis", () => {
  for (const values of [[], [0], [5], [NaN], [-1e300]]) {
    const [low, high] = valueRange(Float64Array.from(values), plain);
    expect(high).toBeGreaterThan(low);
  }
});

test("outliers do not squeeze the others, and a logarithmic axis has no zero", () => {
  const values = Float64Array.from([...Array.from({ length: 99 }, (_, at) => 1 + at / 100), 1e9]);
  expect(valueRange(values, { outliers: true, log: false })[1]).toBeLessThan(10);
  expect(valueRange(Float64Array.of(0, -1, 1, 100), { outliers: false, log: true })[0]).toBeGreaterThan(0.5);
});
