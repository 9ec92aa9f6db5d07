// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { formatNumbers, MOST_NAMED, parseNames, parseNumbers } from "./run_numbers";

test("numbers come back, in their order", () => {
  for (const numbers of [[3], [1, 2], [1, 2, 3, 4], [9, 1, 2, 3, 7], [5, 4, 3]]) {
    expect(parseNumbers(formatNumbers(numbers))).toEqual(numbers);
  }
  expect(formatNumbers([1, 2, 3, 4, 9])).toBe("1-4,9");
});

test("what names no run is told apart, and nobody gets a million runs", () => {
  expect(parseNames("run7,x y,,3-2, 12 ,run9-run11")).toEqual({
    numbers: [7, 12, 9, 10, 11],
    odd: ["x y", "3-2"],
    isCut: false,
  });
  expect(parseNumbers("1-999999999").length).toBe(MOST_NAMED);
  expect(parseNames("1-999999999,x")).toMatchObject({ odd: ["x"], isCut: true });
  expect(parseNames(`1-${MOST_NAMED},5-7,1`).isCut).toBe(false);
});
