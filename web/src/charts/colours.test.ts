// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { assignColours, COLOURS, textWish } from "./colours";

const byText = (names: readonly string[]) => new Map(names.map((name) => [name, textWish(name)]));
const byNumber = (numbers: readonly number[]) => new Map(numbers.map((number) => [`run${number}`, number]));

test("runs that are seen together have different colours while there are enough", () => {
  const names = Array.from({ length: COLOURS }, (_, index) => `01RUN${index}`);
  expect(new Set(assignColours(byText(names)).values()).size).toBe(COLOURS);
  const twice = [...names, ...names.map((name) => `${name}x`)];
  const uses = [...assignColours(byText(twice)).values()].reduce<Record<number, number>>(
    (counts, index) => ({ ...counts, [index]: (counts[index] ?? 0) + 1 }),
    {},
  );
  expect(Object.values(uses)).toEqual(new Array(COLOURS).fill(2));
});

test("the order in which runs are named makes no difference", () => {
  expect(assignColours(byText(["a", "b", "c"]))).toEqual(new Map(assignColours(byText(["c", "a", "b"]))));
});

test("runs that follow each other keep their colours whoever is taken away", () => {
  const all = Array.from({ length: 10 }, (_, at) => 340 + at);
  const before = assignColours(byNumber(all));
  for (const gone of all) {
    for (const [name, index] of assignColours(byNumber(all.filter((one) => one !== gone))))
      expect(before.get(name)).toBe(index);
  }
});

test("only who has to give way gets another colour", () => {
  const before = assignColours(byNumber([1, 2, 3]));
  const after = assignColours(byNumber([1, 1 + COLOURS, 2, 3]));
  expect([...before].every(([name, index]) => after.get(name) === index)).toBe(true);
  expect(new Set(after.values()).size).toBe(4);
});
