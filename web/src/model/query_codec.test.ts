// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { choice, flag, list, number, readState, span, text, writeState } from "./query_codec";

const PARTS = {
  where: text(),
  bin: flag(),
  first: number(10, 0, 100),
  x: choice(["step", "wall"], "step"),
  columns: list(["name"]),
  zoom: span(),
};

test("a state comes back from its address as it was", () => {
  const state = {
    where: 'hparams.lr < 0.1 and name == "a&b=c#d"',
    bin: true,
    first: 0,
    x: "wall" as const,
    columns: ["a,b", "c\\d", "é"],
    zoom: [0.5, 2] as const,
  };
  const query = new URLSearchParams(writeState(PARTS, state).toString());
  expect(readState(PARTS, query)).toEqual(state);
});

test("what is usual is not written", () => {
  expect(writeState(PARTS, readState(PARTS, new URLSearchParams())).toString()).toBe("");
});

test("an empty list is told from the usual one", () => {
  const state = { ...readState(PARTS, new URLSearchParams()), columns: [] };
  expect(readState(PARTS, writeState(PARTS, state)).columns).toEqual([]);
});

test("what cannot be read has its usual value, and numbers are kept within their limits", () => {
  const read = readState(PARTS, new URLSearchParams("first=9999&x=nonsense&zoom=5~1&bin=yes"));
  expect(read).toMatchObject({ first: 100, x: "step", zoom: null, bin: false });
  expect(readState(PARTS, new URLSearchParams("first=abc")).first).toBe(10);
});

test("what is named twice is meant once, and a span has two numbers", () => {
  const parts = { columns: list(), zoom: span() };
  expect(readState(parts, new URLSearchParams("columns=a,b,a")).columns).toEqual(["a", "b"]);
  for (const said of ["1~Infinity", "2~1", "x~2", "1"])
    expect(readState(parts, new URLSearchParams({ zoom: said })).zoom).toBeNull();
});
