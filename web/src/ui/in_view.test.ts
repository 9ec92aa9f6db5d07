// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { onceInView, watchView } from "./in_view";

type Callback = (entries: { isIntersecting: boolean }[]) => void;

let report: (...changes: boolean[]) => void;
let isWatching: boolean;

beforeEach(() => {
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      constructor(callback: Callback) {
        report = (...changes) => callback(changes.map((isIntersecting) => ({ isIntersecting })));
      }
      observe = () => (isWatching = true);
      disconnect = () => (isWatching = false);
    },
  );
});
afterEach(() => vi.unstubAllGlobals());

test("of several changes at once the last one counts", () => {
  const seen: boolean[] = [];
  watchView(300, (isInView) => seen.push(isInView))({} as HTMLElement);
  report(false, true);
  report(true, false);
  expect(seen).toEqual([true, false]);
});

test("what comes into view once is not watched any longer", () => {
  let count = 0;
  onceInView(300, () => count++)({} as HTMLElement);
  report(false);
  expect([count, isWatching]).toEqual([0, true]);
  report(false, true);
  expect([count, isWatching]).toEqual([1, false]);
});
