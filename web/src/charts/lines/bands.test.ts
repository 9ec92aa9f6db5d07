// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { extremePlaces, reduceToBand } from "./bands";

test("a band keeps the extremes of every bucket, and the line its last number", () => {
  const ys = Float64Array.of(1, 9, 2, 3, NaN, -5, 4, 4, NaN);
  const out = reduceToBand(ys, 3);
  expect([...out.low]).toEqual([1, -5, 4]);
  expect([...out.high]).toEqual([9, 3, 4]);
  expect([...out.places]).toEqual([2, 5, 7]);
});

test("few points stay as they are, and NaN alone is NaN", () => {
  const out = reduceToBand(Float64Array.of(NaN, 7), 10);
  expect([...out.places]).toEqual([0, 1]);
  expect(out.low[0]).toBeNaN();
  expect(out.high[1]).toBe(7);
});

test("a line through the extremes has every peak, wherever it stands in its bucket", () => {
  const ys = new Float64Array(10_000);
  for (let at = 0; at < ys.length; at += 333) ys[at] = at % 2 ? 5 : -5;
  const drawn = [...extremePlaces(ys, 100)].map((at) => ys[at]);
  expect(drawn.length).toBeLessThanOrEqual(202);
  for (const peak of [5, -5]) expect(drawn.filter((y) => y === peak).length).toBe(ys.filter((y) => y === peak).length);
});

test("the ends of a line stay, NaN alone is a gap, and few points stay as they are", () => {
  const ys = Float64Array.of(2, 1, 9, NaN, NaN, NaN, 4, NaN, 6, 5);
  expect([...extremePlaces(ys, 4)]).toEqual([0, 1, 2, 5, 6, 8, 9]);
  expect([...extremePlaces(ys, 10)]).toEqual([...ys.keys()]);
  expect([...extremePlaces(new Float64Array(), 10)]).toEqual([]);
});
