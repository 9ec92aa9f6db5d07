// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { entryAt, mergeSteps, stepIndex } from "./media_steps";

test("steps of all runs stand in their order, long ones too", () => {
  expect(
    mergeSteps([
      [1, 10, "9007199254740993"],
      [2, 10, "9007199254740992"],
    ]),
  ).toEqual(["1", "2", "10", "9007199254740992", "9007199254740993"]);
});

test("of each run the entry is shown that was there at the step", () => {
  const entries = [{ step: 5 }, { step: 10 }, { step: "9007199254740993" }];
  expect(entryAt(entries, "9")?.step).toBe(5);
  expect(entryAt(entries, "1")?.step).toBe(5);
  expect(entryAt(entries, "")?.step).toBe("9007199254740993");
  expect(entryAt(entries, "nonsense")?.step).toBe("9007199254740993");
  expect(entryAt([], "1")).toBeUndefined();
});

test("the slider stands where the entries are that are shown", () => {
  const steps = ["0", "5", "10"];
  expect(stepIndex(steps, "5")).toBe(1);
  expect(stepIndex(steps, "7")).toBe(1);
  expect(stepIndex(steps, "99")).toBe(2);
  expect(stepIndex(steps, "-3")).toBe(0);
  expect(stepIndex(steps, "")).toBe(2);
  expect(stepIndex(steps, "nonsense")).toBe(2);
});
