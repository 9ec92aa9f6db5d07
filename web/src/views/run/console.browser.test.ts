// SPDX-License-Identifier: Apache-2.0
// What a run prints, while somebody looks at it; and the search in it.
import { beforeEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import type { Run } from "../../model/wire";
import { isListening, sendChange } from "../../testing/event_streams";
import { openPage, reloadPage } from "../../testing/open_page";
import { StubFiles } from "../../testing/stub_files";
import { StubRuns } from "../../testing/stub_runs";
import { refuse } from "../../testing/stub_server";

const LOG = "log/1.log";
const LINES = Array.from({ length: 2000 }, (_, number) => `line ${number} of many`);
LINES[2] = "a needle far above";
const TEXT = `${LINES.join("\n")}\n`;
const LAST = LINES.at(-1) as string;
let lab: StubRuns;
let files: StubFiles;
let run: Run;

beforeEach(() => {
  lab = new StubRuns([{ name: "talker", status: "running" }]);
  run = lab.named("talker");
  files = new StubFiles(lab).put(run, LOG, TEXT);
});

async function openConsole(): Promise<void> {
  await openPage(lab.server, "/w/lab/runs/1?tab=console");
  await expect.element(page.getByText(LAST, { exact: true })).toBeVisible();
}

const field = page.getByLabelText("Find in the console");

test("what is printed while the tab is open is appended", async () => {
  await openConsole();
  files.put(run, LOG, `${TEXT}printed just now\n`);
  await expect.element(page.getByText("printed just now")).toBeVisible();
  expect(page.getByText(LAST, { exact: true }).elements().length).toBe(1);
});

test("changes of the run leave the console where it was", async () => {
  await openConsole();
  const log = page.getByRole("log").element();
  log.scrollTop = 300;
  const first = log.firstElementChild;
  await expect.poll(isListening).toBe(true);
  lab.change(run.uid, { name: "renamed" });
  sendChange("run");
  await expect.element(page.getByRole("heading", { name: "renamed" })).toBeVisible();
  files.put(run, LOG, `${TEXT}after the news\n`);
  await expect.element(page.getByText("after the news")).toBeInTheDocument();
  expect(log.scrollTop).toBe(300);
  expect(log.firstElementChild).toBe(first);
});

test("a search reaches far above the last lines", async () => {
  await openConsole();
  await expect.element(page.getByText(LINES[2] as string)).not.toBeInTheDocument();
  await userEvent.keyboard("/");
  await userEvent.keyboard("NEEDLE");
  await expect.element(page.getByCss("mark")).toHaveTextContent("needle");
  await expect.element(page.getByRole("status").filter({ hasText: "1 line" })).toBeVisible();
  await page.getByRole("button", { name: "Next" }).click();
  await expect.poll(() => page.getByRole("log").element().scrollTop).toBeLessThan(300);
  await page.getByRole("checkbox", { name: "Only these lines" }).click();
  await expect.element(page.getByText(LAST, { exact: true })).not.toBeInTheDocument();
  await reloadPage(lab.server);
  await expect.element(page.getByCss("mark")).toHaveTextContent("needle");
  await expect.element(page.getByText(LAST, { exact: true })).not.toBeInTheDocument();
});

test("a search begins at its first line, and another one too", async () => {
  await openConsole();
  const searches: [string, number[]][] = [
    ["of many", [0, 1, 3]],
    ["line 70", [70, 700]],
    ["line 1999", [1999, 1999]],
  ];
  for (const [wanted, lines] of searches) {
    await field.fill(wanted);
    await expect.element(page.getByRole("status").filter({ hasText: /lines?$/ })).toBeVisible();
    for (const line of lines) {
      await userEvent.keyboard("{Enter}");
      await expect.element(page.getByCss(`.line.at[data-line='${line}']`)).toBeVisible();
    }
  }
  await field.fill("line 70");
  await expect.element(page.getByCss(".line.at")).not.toBeInTheDocument();
  await userEvent.keyboard("{Shift>}{Enter}{/Shift}");
  await expect.element(page.getByCss(".line.at[data-line='709']")).toBeVisible();
});

test("a search that cannot read the whole log says so and tries again", async () => {
  let isBroken = true;
  lab.server.on("get", "/api/v1/runs/{run}/log", ({ query }, next) =>
    isBroken && query.get("offset") === "0" ? refuse(400, "StorageError", "the disk is gone") : next(),
  );
  await openConsole();
  await field.fill("needle");
  await expect.element(page.getByRole("status").filter({ hasText: "the rest could not be read" })).toBeVisible();
  isBroken = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await expect.element(page.getByRole("status").filter({ hasText: /^1 line$/ })).toBeVisible();
});
