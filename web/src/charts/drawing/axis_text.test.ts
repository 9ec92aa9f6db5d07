// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { axisNumber, axisTexts, placeText } from "./axis_text";

test("numbers along an axis have the digits that tell them apart", () => {
  expect([0, 0.25, 0.5].map((value) => axisNumber(value, 0.25))).toEqual(["0.00", "0.25", "0.50"]);
  expect([10000, 20000].map((value) => axisNumber(value, 10000))).toEqual(["10k", "20k"]);
  expect(axisNumber(1.5e6, 5e5)).toBe("1.5M");
  expect(axisNumber(1e-7, 1e-7)).toBe("1e-7");
});

test("a step beyond 2^53 is told digit by digit", () => {
  expect(placeText("step", 9007199254740992, 9007199254740993n)).toBe("step 9007199254740993");
});

test("times below a second have the digits that tell them apart", () => {
  const texts = (increment: number): string[] =>
    axisTexts("wall", [1_000_000_000, 1_000_000_000 + increment], false).map((text) => text.split("\n")[0] as string);
  const fraction = (text: string): string => /[.,](\d+)$/.exec(text)?.[1] ?? "";
  expect(texts(0.5).map(fraction)).toEqual(["0", "5"]);
  expect(texts(0.02).map(fraction)).toEqual(["00", "02"]);
  expect(texts(0.005).map(fraction)).toEqual(["000", "005"]);
});
