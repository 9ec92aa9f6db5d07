// SPDX-License-Identifier: Apache-2.0
// The page of runs as a whole: how one gets there, what changes by itself, how it looks on a phone.
import { beforeEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import { isListening, sendChange } from "../../testing/event_streams";
import { openPage, reloadPage } from "../../testing/open_page";
import { sweepRuns } from "../../testing/run_fixtures";
import { StubRuns } from "../../testing/stub_runs";
import { nameCell, rowNames, rowOf } from "../../testing/table_rows";

const RUNS = "/w/lab/runs";
let lab: StubRuns;

beforeEach(() => {
  lab = new StubRuns(sweepRuns());
});

test("the front door leads to the runs of the only workspace", async () => {
  await openPage(lab.server, "/");
  await expect.element(nameCell("sweep-7")).toBeVisible();
  expect(location.pathname).toBe(RUNS);
  expect(rowNames().sort()).toEqual(lab.runs.map((run) => run.name));
  expect(document.title).toMatch(/^Runs of lab/);
});

test("a run that begins appears by itself", async () => {
  lab.filter('name == "newcomer"', (run) => run.name === "newcomer");
  await openPage(lab.server, `${RUNS}?where=name == "newcomer"`);
  await expect.element(page.getByText("No run matches this filter")).toBeVisible();
  await expect.poll(isListening).toBe(true);
  lab.add({ name: "newcomer" });
  sendChange("run");
  await expect.element(nameCell("newcomer")).toBeVisible();
});

test("a row that is shown ends by itself", async () => {
  const { uid } = lab.add({ name: "alive", status: "running" });
  await openPage(lab.server, `${RUNS}?columns=status`);
  await expect.element(rowOf("alive").getByText("running")).toBeVisible();
  await expect.poll(isListening).toBe(true);
  lab.change(uid, { status: "completed" });
  sendChange("run");
  await expect.element(rowOf("alive").getByText("completed")).toBeVisible();
});

test("the theme is chosen and comes back", async () => {
  const ground = () => getComputedStyle(document.body).backgroundColor;
  await openPage(lab.server, RUNS);
  const theme = page.getByRole("button", { name: "theme" });
  await theme.click();
  const light = ground();
  await theme.click();
  expect(ground()).not.toBe(light);
  expect(document.documentElement.dataset["theme"]).toBe("dark");
  await reloadPage(lab.server);
  await expect.element(theme).toHaveAccessibleName("Dark theme");
  expect(document.documentElement.dataset["theme"]).toBe("dark");
});
