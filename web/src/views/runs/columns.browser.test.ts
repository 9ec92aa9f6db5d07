// SPDX-License-Identifier: Apache-2.0
// Columns of the table of runs: chosen, sorted, widened, pinned, hidden; and what their cells show.
import { beforeEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { downloadedText, drag, moveMouse } from "../../testing/gestures";
import { openPage, queryOf } from "../../testing/open_page";
import { sweepRuns } from "../../testing/run_fixtures";
import { StubRuns } from "../../testing/stub_runs";
import { countReads, nameCell, rowNames, rowOf } from "../../testing/table_rows";

const RUNS = "/w/lab/runs";
let lab: StubRuns;

beforeEach(() => {
  lab = new StubRuns(sweepRuns());
});

function head(name: string) {
  return page.getByRole("columnheader", { name });
}

async function openColumnMenu(name: string): Promise<void> {
  await head(name).hover();
  await head(name)
    .getByRole("button", { name: `Column ${name}` })
    .click();
}

async function widen(name: string, pixels: number): Promise<void> {
  const { left, top } = head(name).getByCss(".grip").element().getBoundingClientRect();
  const [x, y] = [left + 2, top + 5]; // the head of the next column covers the other half of it
  await drag({ x, y }, { x: x + pixels, y });
}

test("columns are chosen, sorted, widened, pinned and hidden", async () => {
  await openPage(lab.server, `${RUNS}?columns=status`);
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByLabelText("Find a column").fill("acc max");
  await page.getByRole("checkbox", { name: "test/acc max" }).click();
  await userEvent.keyboard("{Escape}");
  await head("test/acc max").getByRole("button", { name: "test/acc max", exact: true }).click();
  await expect.poll(() => queryOf()["sort"]).toBe("-metrics.test/acc.max");
  await expect.poll(() => rowNames().slice(0, 2).sort()).toEqual(["sweep-0", "sweep-4"]);
  await openColumnMenu("test/acc max");
  await page.getByRole("button", { name: "Pin at the left" }).click();
  expect(queryOf()["pinned"]).toBe("metrics.test/acc.max");
  await widen("test/acc max", 80);
  expect(queryOf()["widths"]).toMatch(/^metrics\.test\/acc\.max=2\d\d$/);
  await openColumnMenu("test/acc max");
  await page.getByRole("button", { name: "Hide" }).click();
  await expect.element(head("test/acc max")).not.toBeInTheDocument();
});

test("the menu of the last column is inside of the window", async () => {
  // The last column ends at the edge of the window.
  await openPage(lab.server, `${RUNS}?columns=status&widths=name=500,status=640`);
  await openColumnMenu("status");
  const menu = page.getByRole("dialog", { name: "Column status" });
  const item = menu.getByRole("button", { name: "Hide" });
  await moveMouse({ x: 5, y: 5 }); // it stays while the pointer is elsewhere
  const box = menu.element().getBoundingClientRect();
  expect(box.left).toBeGreaterThan(0);
  expect(box.right).toBeLessThanOrEqual(innerWidth);
  // Nothing clips it, and nothing is above it.
  const edge = item.element().getBoundingClientRect();
  const top = document.elementFromPoint(edge.right - 2, edge.top + edge.height / 2);
  expect(top?.textContent.trim()).toBe("Hide");
  await item.click();
  await expect.element(head("status")).not.toBeInTheDocument();
});

test("a column that is widened asks the server for nothing", async () => {
  await openPage(lab.server, `${RUNS}?columns=status`);
  await countReads("8 runs");
  const before = lab.server.requestsTo("/api/v1/run-marks").length;
  await widen("status", 80);
  await expect.poll(() => queryOf()["widths"]).toMatch(/^status=/);
  expect(lab.server.requestsTo("/api/v1/run-marks").length).toBe(before);
  await head("status").getByRole("button", { name: "status", exact: true }).click();
  await expect.poll(() => queryOf()["sort"]).toContain("status");
  expect(lab.server.requestsTo("/api/v1/run-marks").length).toBe(before + 1);
});

test("an added column is scrolled into sight", async () => {
  const columns = "status,experiment,user,host,created,started,ended,duration,files,bytes,attempts";
  await openPage(lab.server, `${RUNS}?columns=${columns}`);
  await expect.element(nameCell("sweep-0")).toBeVisible();
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("dialog").getByRole("checkbox", { name: "seed" }).click();
  await userEvent.keyboard("{Escape}");
  await expect.element(head("seed")).toBeInViewport({ ratio: 1 });
});

test("a small curve stands beside a metric", async () => {
  await openPage(lab.server, `${RUNS}?columns=metrics.train/loss.last`);
  await expect.element(page.getByCss("[role=cell] svg path[d^='M']").first()).toBeInTheDocument();
});

test("a tag is a column", async () => {
  lab.add({ name: "tagged", tags: { stage: "final <b>" } });
  await openPage(lab.server, `${RUNS}?columns=tags.stage`);
  await expect.element(rowOf("tagged").getByRole("cell", { name: "final <b>", exact: true })).toBeVisible();
});

test("numbers stand whole and NaN is shown", async () => {
  lab.add({ name: "odd", hparams: { seed: 20240101, rate: "NaN" }, metrics: { loss: ["NaN"] } });
  await openPage(lab.server, `${RUNS}?columns=hparams.seed,hparams.rate,metrics.loss.last`);
  await expect.element(rowOf("odd").getByRole("cell", { name: "20240101", exact: true })).toBeVisible();
  await expect.poll(() => rowOf("odd").getByRole("cell", { name: "NaN", exact: true }).elements().length).toBe(2);
});

test("the table is saved as CSV", async () => {
  await openPage(lab.server, `${RUNS}?columns=hparams.lr&sort=name`);
  await countReads("8 runs");
  const text = await downloadedText(() => page.getByRole("button", { name: "CSV" }).click());
  const lines = text.trimEnd().split(/\r?\n/);
  expect(lines[0]).toBe("number,name,hparams.lr");
  expect(lines[1]).toMatch(/,sweep-0,0\.001$/);
  expect(lines.length).toBe(9);
});

const ODD: [string, string, number][] = [
  ["a filter twice", "where=hparams.lr > 0.05 and hparams.lr > 0.05", 4],
  ["columns twice", "columns=status,status,hparams.lr,hparams.lr", 8],
  ["a pinned column twice", "pinned=status,status&columns=status", 8],
  ["no columns", "columns=", 8],
];

test.each(ODD)("an address that names %s shows the table", async (_, query, count) => {
  lab.filter("hparams.lr > 0.05 and hparams.lr > 0.05", (run) => Number(run.hparams["lr"]) > 0.05);
  await openPage(lab.server, `${RUNS}?${query}`);
  await expect.poll(() => rowNames().length).toBe(count);
  const heads = page.getByRole("columnheader").elements();
  expect(heads.filter((one) => one.textContent.trim() === "status").length).toBeLessThanOrEqual(1);
  await head("name").getByRole("button").first().click();
  await expect.element(page.getByCss("[role=columnheader][aria-sort=ascending]")).toBeVisible();
});
