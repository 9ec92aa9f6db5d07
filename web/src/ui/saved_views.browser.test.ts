// SPDX-License-Identifier: Apache-2.0
// Saved views, what roles allow with them, and who the page is for.
import { beforeEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import { openPage, reloadPage } from "../testing/open_page";
import { sweepRuns } from "../testing/run_fixtures";
import { StubRuns } from "../testing/stub_runs";
import { answerViews, makeView } from "../testing/stub_views";
import { countReads } from "../testing/table_rows";

const RUNS = "/w/lab/runs";
let lab: StubRuns;

beforeEach(() => {
  lab = new StubRuns(sweepRuns());
  lab.filter("hparams.seed == 1", (run) => run.hparams["seed"] === 1);
});

const panel = page.getByRole("dialog", { name: "Saved views" });

async function openViews(): Promise<void> {
  await page.getByRole("button", { name: "Saved views" }).click();
  await expect.element(panel).toBeVisible();
}

async function save(name: string): Promise<void> {
  await panel.getByLabelText("Name of this view").fill(name);
  await panel.getByRole("button", { name: "Save", exact: true }).click();
}

test("a view is saved, opened, renamed, replaced and deleted", async () => {
  const views = answerViews(lab);
  await openPage(lab.server, `${RUNS}?where=hparams.seed == 1`);
  await openViews();
  await save("<b>seed</b> one");
  await expect.element(panel.getByRole("link", { name: "<b>seed</b> one" })).toBeVisible();
  await openPage(lab.server, RUNS);
  await countReads("8 runs");
  await openViews();
  await panel.getByRole("link", { name: "<b>seed</b> one" }).click();
  await countReads("4 runs that match");
  await reloadPage(lab.server);
  await countReads("4 runs that match");
  await openViews();
  await panel.getByRole("button", { name: "Rename <b>seed</b> one" }).click();
  await panel.getByLabelText("New name of <b>seed</b> one").fill("one");
  await panel.getByRole("button", { name: "Rename", exact: true }).click();
  await expect.element(panel.getByRole("link", { name: "one", exact: true })).toBeVisible();
  await save("ONE");
  await expect.element(panel.getByRole("alert")).toHaveTextContent("already");
  await expect.element(panel.getByRole("button", { name: "Update it to the current view" })).toBeVisible();
  await panel.getByRole("button", { name: "Delete one" }).click();
  await expect.element(panel.getByText("No saved views yet")).toBeVisible();
  expect(views).toEqual([]);
});

test("views of others are opened and not changed", async () => {
  answerViews(lab, [makeView(1, { name: "theirs", owner: "ed" })]);
  lab.person = { name: "eve", roles: { lab: "editor" } };
  await openPage(lab.server, RUNS);
  await openViews();
  await expect.element(panel.getByRole("link", { name: "theirs" })).toBeVisible();
  await expect.element(panel.getByRole("button", { name: "Delete theirs" })).not.toBeInTheDocument();
  await expect.element(panel.getByLabelText("Name of this view")).toBeVisible();
});

test("viewers cannot save views and see what they may do", async () => {
  answerViews(lab, [makeView(1, { name: "for all", owner: "ed", address: "runs?where=hparams.seed%20%3D%3D%201" })]);
  lab.person = { name: "vic", roles: { lab: "viewer" } };
  lab.server.on("get", "/api/v1/login", () => ({ mode: "tokens" }));
  await openPage(lab.server, RUNS);
  await openViews();
  await expect.element(panel.getByText("Saving needs the role editor in lab")).toBeVisible();
  await expect.element(panel.getByLabelText("Name of this view")).not.toBeInTheDocument();
  await panel.getByRole("link", { name: "for all" }).click();
  await countReads("4 runs that match");
  await page.getByRole("button", { name: "Account" }).click();
  await expect.element(page.getByText("You may look at what is in lab")).toBeVisible();
  await expect.element(page.getByRole("button", { name: "Log out" })).toBeVisible();
});
