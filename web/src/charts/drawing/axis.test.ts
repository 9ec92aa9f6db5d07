// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { axisScale, axisTicks, panSpan, valueAt, zoomSpan } from "./axis";

test("pan moves an axis by a share of its length", () => {
  expect(panSpan([100, 200], 0.5, false)).toEqual([150, 250]);
  expect(panSpan([100, 200], -0.5, false)).toEqual([50, 150]);
});

test("zoom keeps the value under the pointer in place", () => {
  expect(zoomSpan([100, 200], 2, 0.25, false)).toEqual([75, 275]);
  expect(zoomSpan([100, 200], 0.5, 1, false)).toEqual([150, 200]);
});

test("a log axis is moved by factors and never reaches zero", () => {
  expect(panSpan([10, 1000], 0.5, true)).toEqual([100, 10_000]);
  const [from, to] = zoomSpan([10, 1000], 2, 0.5, true);
  expect(from).toBeCloseTo(1, 9);
  expect(to).toBeCloseTo(10_000, 6);
});

test("ends and middle of an axis have their pixels, also from the bottom up", () => {
  const across = axisScale({ span: [10, 20], isLog: false }, 5, 100);
  expect([10, 15, 20].map(across)).toEqual([5, 55, 105]);
  const up = axisScale({ span: [-1, 1], isLog: false }, 300, -200);
  expect([-1, 0, 1].map(up)).toEqual([300, 200, 100]);
});

test("on a log axis decades are equally long, and shares lead back to values", () => {
  const axis = { span: [1, 1000], isLog: true } as const;
  expect([1, 10, 100, 1000].map((value) => Math.round(axisScale(axis, 0, 300)(value)))).toEqual([0, 100, 200, 300]);
  expect(valueAt(axis, 1 / 3)).toBeCloseTo(10, 9);
  expect(valueAt({ span: [10, 20], isLog: false }, 0.25)).toBe(12.5);
});

test("ticks have their values and texts", () => {
  const ticks = axisTicks({ kind: "step", span: [0, 100_000], isLog: false }, 5);
  expect(ticks.map((tick) => tick.text)).toEqual(["0", "20k", "40k", "60k", "80k", "100k"]);
  expect(ticks.map((tick) => tick.value)).toEqual([0, 20_000, 40_000, 60_000, 80_000, 100_000]);
});
