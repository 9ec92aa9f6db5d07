// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { ColourRegistry, COLOURS, textColour } from "./colours";

const byText = (names: readonly string[]) => new Map(names.map((name) => [name, textColour(name)]));
const byNumber = (numbers: readonly number[]) => new Map(numbers.map((number) => [`run${number}`, number]));
const book = () => new ColourRegistry("", undefined);

function keeper() {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, text: string) => void kept.set(key, text),
  };
}

test("runs that are seen together have different colours while there are enough", () => {
  const names = Array.from({ length: COLOURS }, (_, index) => `01RUN${index}`);
  expect(new Set(book().assign(byText(names)).values()).size).toBe(COLOURS);
  const twice = [...names, ...names.map((name) => `${name}x`)];
  const uses = [...book().assign(byText(twice)).values()].reduce<Record<number, number>>(
    (counts, index) => ({ ...counts, [index]: (counts[index] ?? 0) + 1 }),
    {},
  );
  expect(Object.values(uses)).toEqual(new Array(COLOURS).fill(2));
});

test("the order in which runs are named makes no difference", () => {
  expect(book().assign(byText(["a", "b", "c"]))).toEqual(new Map(book().assign(byText(["c", "a", "b"]))));
});

test("a run keeps its colour in every selection of the runs that were shown together", () => {
  for (const count of [4, 10, COLOURS]) {
    const colours = book();
    const all = Array.from({ length: count }, (_, at) => 3 + 11 * at);
    const table = colours.assign(byNumber(all));
    for (const one of all) {
      for (const other of all)
        for (const [name, index] of colours.assign(byNumber([one, other]))) expect(index).toBe(table.get(name));
    }
    expect(colours.assign(byNumber(all))).toEqual(table);
  }
});

test("a run that comes gets another colour, those that are shown keep theirs", () => {
  const colours = book();
  colours.assign(byNumber([16]));
  colours.assign(byNumber([8]));
  const shown = colours.assign(byNumber([16, 17]));
  const after = colours.assign(byNumber([8, 16, 17]));
  for (const [name, index] of shown) expect(after.get(name)).toBe(index);
  expect(new Set(after.values()).size).toBe(3);
  // Its new colour is the one that it has from then on.
  expect(colours.assign(byNumber([8])).get("run8")).toBe(after.get("run8"));
});

test("with more runs than colours none changes", () => {
  const colours = book();
  const many = Array.from({ length: 3 * COLOURS }, (_, at) => at);
  const before = colours.assign(byNumber(many));
  expect(colours.assign(byNumber([...many, 500]))).toEqual(new Map([...before, ["run500", expect.any(Number)]]));
});

test("a few runs have the colours that differ most, whatever their numbers", () => {
  for (let first = 0; first < 30; first++) {
    const given = [
      ...book()
        .assign(byNumber([first, first + 11, first + 12, first + 23]))
        .values(),
    ];
    expect(new Set(given).size).toBe(4);
    expect(Math.max(...given)).toBeLessThan(8);
  }
});

test("colours survive a reload and what other tabs store", () => {
  const kept = keeper();
  const [one, other] = [new ColourRegistry("colours", kept), new ColourRegistry("colours", kept)];
  const first = one.assign(byNumber([1, 9, 17]));
  other.assign(byNumber([2]));
  expect(new ColourRegistry("colours", kept).assign(byNumber([17])).get("run17")).toBe(first.get("run17"));
  for (const broken of ["{", "[]", '{"run1": "red", "run2": 99}']) {
    kept.setItem("colours", broken);
    expect(new ColourRegistry("colours", kept).assign(byNumber([1])).get("run1")).toBe(1);
  }
});

test("a colour that somebody gave is kept, and others avoid it until it is taken back", () => {
  const colours = book();
  const wishes = byNumber([0, 1, 2]);
  const before = colours.assign(wishes);
  const given = before.get("run0") as number;
  const during = colours.assign(wishes, new Map([["run1", given]]));
  expect(during.get("run1")).toBe(given);
  expect(during.get("run0")).not.toBe(given);
  expect(new Set(during.values()).size).toBe(3);
  expect(colours.assign(wishes).get("run1")).not.toBe(given);
});
