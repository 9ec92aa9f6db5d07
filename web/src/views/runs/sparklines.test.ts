// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { patternOf } from "./sparklines.svelte";

function fits(metric: string, tag: string): boolean {
  return new RegExp(patternOf(metric), "u").test(tag);
}

test("a metric may be a tag of any logdir that its name begins with", () => {
  expect(patternOf("train/a.b/loss")).toBe("^((train/)?a\\.b/)?loss$");
  for (const tag of ["train/a.b/loss", "a.b/loss", "loss"]) expect(fits("train/a.b/loss", tag)).toBe(true);
  for (const tag of ["train/loss", "axb/loss", "a.b/loss/x", "b/loss", "my loss"])
    expect(fits("train/a.b/loss", tag)).toBe(false);
});

test("the pattern of a long metric stays within the limit of the server", () => {
  const parts = Array.from({ length: 10 }, (_, at) => `${at}_a layer`);
  const metric = parts.join("/");
  expect(metric.length).toBeGreaterThan(90);
  expect(patternOf(metric).length).toBeLessThanOrEqual(500);
  for (let at = 0; at < parts.length; at++) expect(fits(metric, parts.slice(at).join("/"))).toBe(true);
});

test.each(["x".repeat(10_000), `${"deep/".repeat(300)}loss`, `a/${"(é)".repeat(600)}`, `${"🚀".repeat(600)}`])(
  "a metric that does not fit into a pattern is matched by its end",
  (metric) => {
    expect(patternOf(metric).length).toBeLessThanOrEqual(500);
    expect(fits(metric, metric)).toBe(true);
    expect(fits(metric, metric.split("/").at(-1) ?? "")).toBe(true);
  },
);
