// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Span, XKind } from "../lines/line";
import { axisTexts } from "./axis_text";
import { tickValues } from "./ticks";

const at = (span: Span, kind: XKind, log = false, count = 6): number[] => tickValues(span, { kind, log, count });
const texts = (span: Span, kind: XKind, log = false, count = 6): string[] =>
  axisTexts(kind, at(span, kind, log, count), log);

test("ticks are round numbers inside of the axis", () => {
  expect(at([0, 1], "metric")).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  expect(at([-0.3, 0.3], "metric")).toEqual([-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3]);
  expect(at([0, 3], "step")).toEqual([0, 1, 2, 3]);
});

test("a logarithmic axis has 1, 2 and 5 of each power of ten, or powers of ten where it is long", () => {
  expect(at([0.266279, 5.5], "metric", true)).toEqual([0.5, 1, 2, 5]);
  expect(texts([0.266279, 5.5], "metric", true)).toEqual(["0.5", "1", "2", "5"]);
  expect(at([0.05, 200], "metric", true)).toEqual([0.1, 1, 10, 100]);
  expect(at([1e-9, 1e9], "metric", true)).toEqual([1e-9, 1e-5, 0.1, 1e3, 1e7].map((one) => expect.closeTo(one, 10)));
  expect(texts([1, 2e4], "metric", true)).toEqual(["1", "10", "100", "1000", "10k"]);
});

test("a part of a logarithmic axis between two of these has numbers too", () => {
  expect(at([2000, 2050], "step", true)).toEqual([2000, 2010, 2020, 2030, 2040, 2050]);
  expect(texts([2.1, 2.4], "metric", true)).toEqual(["2.1", "2.15", "2.2", "2.25", "2.3", "2.35", "2.4"]);
});

test("times since the start are counted in minutes and hours", () => {
  expect(texts([0, 5000], "relative", false, 4)).toEqual(["0", "30 min", "1:00:00"]);
  expect(texts([0, 1100], "relative", false, 4)).toEqual(["0", "5 min", "10 min", "15 min"]);
  expect(texts([4200, 5400], "relative", false, 4)).toEqual(["1:10:00", "1:15:00", "1:20:00", "1:25:00", "1:30:00"]);
  expect(texts([0, 100], "relative", false, 4)).toEqual(["0", "30 s", "1:00", "1:30"]);
  expect(texts([60, 60.8], "relative", false, 4)).toEqual(["1:00.0", "1:00.2", "1:00.4", "1:00.6", "1:00.8"]);
  expect(texts([0, 2e5], "relative", false, 5)).toEqual(["0", "12 h", "1 d", "1 d 12 h", "2 d"]);
  expect(texts([0, 3e7], "relative", false, 4)).toEqual(["0", "100 d", "200 d", "300 d"]);
  expect(texts([1, 90_000], "relative", true, 8)).toEqual(["1 s", "10 s", "1 min", "10 min", "1 h", "10 h", "1 d"]);
  expect(texts([20, 700], "relative", true, 8)).toEqual(["30 s", "1 min", "2 min", "5 min", "10 min"]);
});

test("times of day stand at full hours, with the date below the first and where it changes", () => {
  const noon = new Date(2024, 10, 16, 12, 7).getTime() / 1000;
  const times = texts([noon, noon + 86_400], "wall", false, 4);
  expect(times.map((text) => text.split("\n")[0])).toEqual(["18:00", "00:00", "06:00", "12:00"]);
  expect(times.map((text) => text.includes("2024"))).toEqual([true, true, false, false]);
  expect(times[1]).toContain("17");
  const days = texts([noon, noon + 40 * 86_400], "wall", false, 4);
  expect(days.length).toBeGreaterThan(2);
  for (const text of days) expect(text).toMatch(/^\D*\d+\D*(\n\d{4})?$/);
  expect(texts([noon, noon + 30], "wall", false, 3).every((text) => /^12:07:\d0/.test(text))).toBe(true);
});
