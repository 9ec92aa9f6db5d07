// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { stepped } from "./next_index";

test("from none the first or the last is reached", () => {
  expect(stepped(-1, 1, 5)).toBe(0);
  expect(stepped(-1, -1, 5)).toBe(4);
});

test("behind the last comes the first, and before the first the last", () => {
  expect(stepped(1, 1, 5)).toBe(2);
  expect(stepped(4, 1, 5)).toBe(0);
  expect(stepped(0, -1, 5)).toBe(4);
});

test("of nothing none is chosen", () => {
  expect(stepped(-1, 1, 0)).toBe(-1);
  expect(stepped(3, -1, 0)).toBe(-1);
});
