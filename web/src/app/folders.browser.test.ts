// SPDX-License-Identifier: Apache-2.0
// The page over folders: its places, what it leaves out, progress, problems and folders without runs.
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { page } from "vitest/browser";
import type { ReadingProgress, SourceReport } from "../data/source.svelte";
import { openPage } from "../testing/open_page";
import { sweepRuns } from "../testing/run_fixtures";
import { StubRuns } from "../testing/stub_runs";
import { refuse } from "../testing/stub_server";

const COMPARE = "/w/logs/compare";
let lab: StubRuns;
let progress: ReadingProgress;
let report: SourceReport;

beforeEach(() => {
  lab = new StubRuns(sweepRuns(3).map((facts) => ({ ...facts, workspace: "logs" })));
  progress = {
    runs_read: 3,
    runs_found: 3,
    complete: true,
    unreadable_files: 0,
    damaged_files: 0,
    store_problems: [],
  };
  report = { title: "my logs", folders: [], problems: [], left_out: 0 };
  Object.assign(document.documentElement.dataset, { source: "folders", title: "my logs", workspace: "logs" });
  onTestFinished(() => {
    for (const name of ["source", "title", "workspace"]) delete document.documentElement.dataset[name];
  });
  const { server } = lab;
  const answers: [string, () => unknown][] = [
    ["/api/v1/progress", () => progress],
    ["/api/v1/source", () => report],
  ];
  // These routes are of `aboard view` alone, and not in the API's description.
  for (const [path, answer] of answers) server.on("get", path as "/api/v1/info", answer as never);
});

const role = page.getByRole.bind(page);

test("folders have no boards, workspaces, experiments or account", async () => {
  await openPage(lab.server, "/w/logs/runs");
  await expect.element(role("link", { name: "sweep-0", exact: true })).toBeVisible();
  const places = role("navigation", { name: "Places" });
  expect(
    places
      .getByRole("link")
      .elements()
      .map((link) => link.textContent),
  ).toEqual(["Runs", "Compare", "TensorBoard"]);
  await expect.element(role("banner").getByText("my logs")).toBeVisible();
  await role("checkbox", { name: "Select sweep-0" }).click();
  for (const name of ["Account", "Open as board", "Experiment"])
    await expect.element(role("button", { name })).not.toBeInTheDocument();
  await expect.element(role("combobox", { name: "Workspace" })).not.toBeInTheDocument();
  expect(lab.server.requestsTo("/api/v1/workspaces")).toEqual([]);
  const heads = role("columnheader")
    .elements()
    .map((head) => head.textContent?.trim());
  expect(heads).not.toContain("experiment");
  expect(heads).toEqual(expect.arrayContaining(["status", "started", "duration", "size"]));
});

test("a run of a folder has no console, files or code", async () => {
  await openPage(lab.server, "/w/logs/runs/1");
  await expect.element(role("tab", { name: "Overview" })).toBeVisible();
  expect(
    role("tab")
      .elements()
      .map((tab) => tab.textContent),
  ).toEqual(["Overview", "Charts"]);
});

test("the page says how many runs are read, and fills as they come", async () => {
  Object.assign(progress, { runs_read: 1, complete: false });
  lab.runs.splice(1);
  await openPage(lab.server, COMPARE);
  await expect.element(page.getByText("1 of 3 runs read")).toBeVisible();
  await expect.element(page.getByText("1 of 1 run plotted")).toBeVisible();
  for (const facts of sweepRuns(3).slice(1)) lab.add({ ...facts, workspace: "logs" });
  Object.assign(progress, { runs_read: 3, complete: true });
  await expect.element(page.getByText("3 of 3 runs plotted")).toBeVisible();
  await expect.element(page.getByText("of 3 runs read")).not.toBeInTheDocument();
});

test("files that are damaged or cannot be read are named", async () => {
  Object.assign(progress, { unreadable_files: 1, damaged_files: 2 });
  report.problems = [{ file: "/logs/a/events.1", problem: "3 damaged records" }];
  report.left_out = 2;
  await openPage(lab.server, COMPARE);
  await role("button", { name: "1 unreadable file, 2 damaged files" }).click();
  const panel = role("dialog");
  await expect.element(panel.getByText("/logs/a/events.1")).toBeVisible();
  await expect.element(panel.getByText("3 damaged records")).toBeVisible();
  await expect.element(panel.getByText("2 more problems")).toBeVisible();
});

test.each(["compare", "runs"])("%s says where it looked when there are no event files", async (place) => {
  lab.runs.splice(0);
  Object.assign(progress, { runs_read: 0, runs_found: 0 });
  report.folders = [
    { place: "/logs", files: 6, folders: 1, kinds: { ".csv": 5, "": 1 }, is_partial: false, problem: "" },
    { place: "/gone", files: 0, folders: 0, kinds: {}, is_partial: false, problem: "/gone cannot be read: Denied" },
  ];
  await openPage(lab.server, `/w/logs/${place}`);
  await expect.element(page.getByText("No event files yet")).toBeVisible();
  await expect.element(page.getByText("6 other files in 2 folders (5 .csv, 1 without suffix)")).toBeVisible();
  await expect.element(page.getByText("/gone cannot be read: Denied")).toBeVisible();
});

test("while nothing has been read yet the page says that it is reading", async () => {
  lab.runs.splice(0);
  Object.assign(progress, { runs_read: 0, runs_found: 212, complete: false });
  await openPage(lab.server, COMPARE);
  await expect.element(role("main").getByText("Reading runs…")).toBeVisible();
  await expect.element(role("main").getByText("0 of 212 runs read")).toBeVisible();
});

test("TensorBoard is loaded when its place is opened, and kept while another is shown", async () => {
  const request = vi.fn(() => new Response("<p>board</p>"));
  lab.server.on("get", "/tensorboard/" as "/healthz", request as never);
  await openPage(lab.server, COMPARE);
  await expect.element(page.getByText("3 of 3 runs plotted")).toBeVisible();
  expect(request).not.toHaveBeenCalled();
  const places = role("navigation", { name: "Places" });
  await places.getByRole("link", { name: "TensorBoard" }).click();
  const frame = page.getByTitle("TensorBoard");
  await expect.element(frame).toBeVisible();
  await expect.element(role("link", { name: "Open in new tab" })).toHaveAttribute("href", "/tensorboard/");
  const before = frame.element();
  await places.getByRole("link", { name: "Compare" }).click();
  await expect.element(page.getByText("3 of 3 runs plotted")).toBeVisible();
  await expect.element(frame).not.toBeVisible();
  await places.getByRole("link", { name: "TensorBoard" }).click();
  await expect.element(frame).toBeVisible();
  expect(frame.element()).toBe(before);
  expect(request).toHaveBeenCalledOnce();
});

test("a TensorBoard that cannot be loaded says why, and can be tried again", async () => {
  const why = "TensorBoard cannot be loaded: no module\nThe page of aboard works without it.\n";
  let isMissing = true;
  const answer = () => (isMissing ? new Response(why, { status: 503 }) : new Response("<p>board</p>"));
  lab.server.on("get", "/tensorboard/" as "/healthz", answer as never);
  await openPage(lab.server, "/w/logs/tensorboard");
  await expect.element(role("alert").getByText("TensorBoard cannot be loaded: no module")).toBeVisible();
  isMissing = false;
  await role("button", { name: "Try again" }).click();
  await expect.element(page.getByTitle("TensorBoard")).toBeVisible();
});

test("a server with a catalog has no place for TensorBoard", async () => {
  delete document.documentElement.dataset["source"];
  lab.server.on("get", "/api/v1/boards", () => refuse(404, "none", "none"));
  await openPage(lab.server, "/w/logs/tensorboard");
  await expect.element(page.getByText("There is nothing at this address")).toBeVisible();
});
