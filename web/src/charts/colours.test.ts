// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { assignColours, COLOURS } from "./colours";

test("runs that are seen together have different colours while there are enough", () => {
  const names = Array.from({ length: COLOURS }, (_, index) => `01RUN${index}`);
  expect(new Set(assignColours(names).values()).size).toBe(COLOURS);
  const twice = [...names, ...names.map((name) => `${name}x`)];
  const uses = [...assignColours(twice).values()].reduce<Record<number, number>>(
    (counts, index) => ({ ...counts, [index]: (counts[index] ?? 0) + 1 }),
    {},
  );
  expect(Object.values(uses)).toEqual(new Array(COLOURS).fill(2));
});

test("the order in which runs are named makes no difference", () => {
  expect(assignColours(["a", "b", "c"])).toEqual(new Map(assignColours(["c", "a", "b"])));
});
