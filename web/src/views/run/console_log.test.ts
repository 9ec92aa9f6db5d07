// SPDX-License-Identifier: Apache-2.0
import { beforeEach, expect, test, vi } from "vitest";
import { readLog } from "../../data/files";
import { ConsoleLog } from "./console_log.svelte";

vi.mock("../../data/files", () => ({ readLog: vi.fn() }));

const TEXT = "first\nsecond\nthird\n";
const END = TEXT.indexOf("third");
let isGone = false;

beforeEach(() => {
  isGone = false;
  vi.mocked(readLog).mockImplementation((_, { tail, offset = tail ? END : 0 }) => {
    if (isGone) return Promise.reject(new Error("gone"));
    return Promise.resolve({
      path: "log/1.log",
      text: TEXT.slice(offset),
      offset,
      next: TEXT.length,
      size: TEXT.length,
    });
  });
});

async function begun(): Promise<ConsoleLog> {
  const reading = new ConsoleLog("run");
  await reading.begin("");
  expect([reading.text, reading.hasEarlier, reading.hasFailed]).toEqual(["third\n", true, false]);
  return reading;
}

test("all of it follows its end", async () => {
  const reading = await begun();
  await reading.whole();
  expect([reading.text, reading.hasEarlier, reading.hasFailed]).toEqual([TEXT, false, false]);
});

test("earlier text that does not come is told, also while more is printed, until it comes", async () => {
  const reading = await begun();
  isGone = true;
  await reading.whole();
  isGone = false;
  await reading.more();
  expect([reading.text, reading.hasFailed]).toEqual(["third\n", true]);
  const again = reading.whole();
  expect(reading.hasFailed).toBe(false);
  await again;
  expect([reading.text, reading.hasFailed]).toEqual([TEXT, false]);
});
