// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { ticks } from "./ticks";

test("ticks are round numbers inside of the axis", () => {
  expect(ticks([0, 1], false)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  expect(ticks([0.05, 200], true)).toEqual([0.1, 1, 10, 100]);
});

test("a part of a logarithmic axis between two powers of ten has numbers too", () => {
  expect(ticks([2000, 2050], true)).toEqual([2000, 2010, 2020, 2030, 2040, 2050]);
});
