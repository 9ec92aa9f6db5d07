// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { isPlotted, togglePlotted } from "./plotted";

test("the first runs are plotted, but for those that were hidden; others when they were shown", () => {
  const plotted = { first: 2, shown: ["9"], hidden: ["1"] };
  expect([1, 2, 3, 9].map((number, index) => isPlotted(plotted, index, number))).toEqual([false, true, false, true]);
});

test("an eye that is clicked twice is as it was", () => {
  let plotted = { first: 1, shown: [] as readonly string[], hidden: [] as readonly string[] };
  for (const index of [0, 5]) {
    const before = isPlotted(plotted, index, 7);
    plotted = { ...plotted, ...togglePlotted(plotted, index, 7) };
    expect(isPlotted(plotted, index, 7)).toBe(!before);
    plotted = { ...plotted, ...togglePlotted(plotted, index, 7) };
    expect(isPlotted(plotted, index, 7)).toBe(before);
    expect(plotted).toEqual({ first: 1, shown: [], hidden: [] });
  }
});
