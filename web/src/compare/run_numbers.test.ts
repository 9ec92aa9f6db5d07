// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { readNumbers, writtenNumbers } from "./run_numbers";

test("numbers come back, in their order", () => {
  for (const numbers of [[3], [1, 2], [1, 2, 3, 4], [9, 1, 2, 3, 7], [5, 4, 3]]) {
    expect(readNumbers(writtenNumbers(numbers))).toEqual(numbers);
  }
  expect(writtenNumbers([1, 2, 3, 4, 9])).toBe("1-4,9");
});

test("what is no number is passed over, and nobody gets a million runs", () => {
  expect(readNumbers("run7,x,,3-2, 12 ")).toEqual([7, 12]);
  expect(readNumbers("1-999999999").length).toBe(2000);
});
