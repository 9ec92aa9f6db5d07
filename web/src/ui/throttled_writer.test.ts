// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ThrottledWriter } from "./throttled_writer";

const SAFARI_ALLOWS = 100; // in 10 seconds
const FRAME = 1000 / 60;
let written: number[] = [];
let paced: ThrottledWriter<number>;

beforeEach(() => {
  vi.useFakeTimers();
  written = [];
  paced = new ThrottledWriter((value) => written.push(value));
});
afterEach(() => vi.useRealTimers());

function drag(frames: number): void {
  for (let frame = 1; frame <= frames; frame++) {
    paced.put(frame);
    vi.advanceTimersByTime(FRAME);
  }
}

test("a few changes are written at once", () => {
  paced.put(1);
  paced.put(2);
  paced.put(3);
  expect(written).toEqual([1, 2, 3]);
});

test("ten seconds of dragging stay below what browsers allow, and end with the last change", () => {
  drag(600);
  expect(written.length).toBeGreaterThan(30);
  expect(written.length).toBeLessThan(SAFARI_ALLOWS);
  vi.runAllTimers();
  expect(written.at(-1)).toBe(600);
  expect(written).toEqual([...written].sort((one, other) => one - other));
});

test("after a rest changes are written at once again", () => {
  drag(600);
  vi.advanceTimersByTime(10_000);
  paced.put(1000);
  expect(written.at(-1)).toBe(1000);
});

test("what waits is written when it is asked for, and once", () => {
  drag(59);
  expect(written.at(-1)).not.toBe(59);
  paced.flush();
  expect(written.at(-1)).toBe(59);
  const count = written.length;
  vi.runAllTimers();
  paced.flush();
  expect(written.length).toBe(count);
});

test("what is forgotten is never written", () => {
  drag(59);
  paced.forget();
  vi.runAllTimers();
  expect(written).not.toContain(59);
});

test("a write that is refused is tried again, with what is newest then", () => {
  let isRefusing = true;
  paced = new ThrottledWriter((value) => {
    if (isRefusing) throw new Error("too many");
    written.push(value);
  });
  paced.put(1);
  paced.put(2);
  expect(written).toEqual([]);
  isRefusing = false;
  vi.runAllTimers();
  expect(written).toEqual([2]);
});
