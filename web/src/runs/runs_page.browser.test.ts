// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { openPage } from "../testing/open_page";
import { sweepRuns } from "../testing/run_fixtures";
import { StubRuns } from "../testing/stub_runs";

test("the front door leads to the runs of the only workspace", async () => {
  const { server } = new StubRuns(sweepRuns());
  await openPage(server, "/");
  await expect.element(page.getByRole("link", { name: "sweep-7" })).toBeVisible();
  expect(location.pathname).toBe("/w/lab/runs");
  expect(document.title).toMatch(/^Runs of lab/);
});

test("a comparison is drawn", async () => {
  const { server } = new StubRuns(sweepRuns());
  await openPage(server, "/w/lab/compare");
  await expect.element(page.getByText("8 of 8 runs plotted")).toBeVisible();
  await expect.element(page.getByCss("section[data-tag='loss'] canvas").first()).toBeVisible();
});
