// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fetchCurves } from "../api/series";
import type { Run } from "../api/wire";
import { sparklines } from "./sparklines.svelte";

vi.mock("../api/series", () => ({ fetchCurves: vi.fn() }));

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

async function shown(metric: string, logdir: string, tag: string): Promise<string> {
  const run = { uid: metric, number: 7, metrics: { [metric]: { count: 3 } } } as unknown as Run;
  const curve = { run: 7, logdir, tag, steps: [0, 1], values: [0, 1] };
  vi.mocked(fetchCurves).mockReset();
  vi.mocked(fetchCurves).mockResolvedValue({ items: [curve] } as never);
  sparklines.path(run, metric);
  await vi.advanceTimersByTimeAsync(1000);
  return sparklines.path(run, metric);
}

test("a metric is asked for by every name that its tag may have", async () => {
  expect(await shown("train/a.b/loss", "train", "a.b/loss")).toMatch(/^M/);
  expect(fetchCurves).toHaveBeenCalledExactlyOnceWith({
    runs: [7],
    tags: ["train/a.b/loss", "a.b/loss", "loss"],
    points: 48,
  });
});

test("a long metric of many parts has a small curve too", async () => {
  const metric = Array.from({ length: 10 }, (_, at) => `${at}_${"layer (name)".repeat(2)}`).join("/");
  expect(metric.length).toBeGreaterThan(250);
  expect(await shown(metric, "", metric)).toMatch(/^M/);
  const { tags = [], pattern } = vi.mocked(fetchCurves).mock.calls[0]?.[0] ?? {};
  expect(pattern).toBeUndefined(); // the server takes 500 characters
  expect(tags.length).toBe(10);
});

test("a name that no address has room for is not asked for", async () => {
  expect(await shown("x".repeat(10_000), ".", "")).toBe("");
  expect(fetchCurves).not.toHaveBeenCalled();
});
