// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { nextIndex } from "./next_index";

test("from none the first or the last is reached", () => {
  expect(nextIndex(-1, 1, 5)).toBe(0);
  expect(nextIndex(-1, -1, 5)).toBe(4);
});

test("behind the last comes the first, and before the first the last", () => {
  expect(nextIndex(1, 1, 5)).toBe(2);
  expect(nextIndex(4, 1, 5)).toBe(0);
  expect(nextIndex(0, -1, 5)).toBe(4);
});

test("of nothing none is chosen", () => {
  expect(nextIndex(-1, 1, 0)).toBe(-1);
  expect(nextIndex(3, -1, 0)).toBe(-1);
});
