// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { panSpan, zoomSpan } from "./axis_moves";

test("an axis is moved by a share of its length", () => {
  expect(panSpan([100, 200], 0.5, false)).toEqual([150, 250]);
  expect(panSpan([100, 200], -0.5, false)).toEqual([50, 150]);
});

test("what the pointer is at stays there", () => {
  expect(zoomSpan([100, 200], 2, 0.25, false)).toEqual([75, 275]);
  expect(zoomSpan([100, 200], 0.5, 1, false)).toEqual([150, 200]);
});

test("a logarithmic axis is moved by factors and never reaches zero", () => {
  expect(panSpan([10, 1000], 0.5, true)).toEqual([100, 10_000]);
  const [from, to] = zoomSpan([10, 1000], 2, 0.5, true);
  expect(from).toBeCloseTo(1, 9);
  expect(to).toBeCloseTo(10_000, 6);
});
