// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { MOST_NAMED, readNames, readNumbers, writtenNumbers } from "./run_numbers";

test("numbers come back, in their order", () => {
  for (const numbers of [[3], [1, 2], [1, 2, 3, 4], [9, 1, 2, 3, 7], [5, 4, 3]]) {
    expect(readNumbers(writtenNumbers(numbers))).toEqual(numbers);
  }
  expect(writtenNumbers([1, 2, 3, 4, 9])).toBe("1-4,9");
});

test("what names no run is told apart, and nobody gets a million runs", () => {
  expect(readNames("run7,x y,,3-2, 12 ,run9-run11")).toEqual({
    numbers: [7, 12, 9, 10, 11],
    odd: ["x y", "3-2"],
    isCut: false,
  });
  expect(readNumbers("1-999999999").length).toBe(MOST_NAMED);
  expect(readNames("1-999999999,x")).toMatchObject({ odd: ["x"], isCut: true });
  expect(readNames(`1-${MOST_NAMED},5-7,1`).isCut).toBe(false);
});
