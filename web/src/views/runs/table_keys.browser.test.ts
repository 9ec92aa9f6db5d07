// SPDX-License-Identifier: Apache-2.0
// The table of runs by keys, fingers and scroll bars.
import { beforeEach, expect, test } from "vitest";
import { page, userEvent, type Locator } from "vitest/browser";
import { downloadedText, tap, useTouch } from "../../testing/gestures";
import { openPage, queryOf } from "../../testing/open_page";
import { StubRuns } from "../../testing/stub_runs";
import { countReads, nameCell, rowOf } from "../../testing/table_rows";

const MANY = 230;
const HEIGHT = 30; // of a row
let lab: StubRuns;

beforeEach(() => {
  lab = new StubRuns(
    ["plain", "tagged", "odd"].map((name) => ({
      name,
      status: name === "plain" ? "failed" : "completed",
      hparams: { seed: 20240101 },
      tags: name === "tagged" ? { stage: "final <b>" } : {},
    })),
  );
});

function addMany(): void {
  for (let index = 0; index < MANY; index++)
    lab.add({ name: `many-${String(index).padStart(4, "0")}`, workspace: "many" });
}

async function openRuns(query = ""): Promise<void> {
  await openPage(lab.server, `/w/lab/runs?${query}`);
  await expect.element(page.getByCss("a.name").first()).toBeVisible();
}

async function pressEnterOn(target: Locator): Promise<void> {
  (target.element() as HTMLElement).focus();
  await userEvent.keyboard("{Enter}");
}

function isFocusIn(selector: string): boolean {
  return document.activeElement?.closest(selector) !== null;
}

test("Enter presses the link or button that has the focus", async () => {
  lab.server.on("get", "/api/v1/boards", () => ({ items: [], next: null }));
  await openRuns();
  await userEvent.keyboard("j");
  await pressEnterOn(page.getByRole("button", { name: "Columns" }));
  await expect.element(page.getByLabelText("Find a column")).toBeVisible();
  await userEvent.keyboard("{Escape}");
  await pressEnterOn(page.getByRole("link", { name: "Boards" }));
  await expect.poll(() => location.pathname).toBe("/w/lab/boards");
  await expect.element(page.getByText("There are no boards in lab yet")).toBeVisible();
});

test("Enter opens the run of the cursor", async () => {
  await openRuns("sort=name");
  await userEvent.keyboard("j{Enter}");
  await expect.element(page.getByRole("heading", { name: "odd" })).toBeVisible();
});

test("a value of the run at the cursor becomes a filter", async () => {
  lab.filter('tags.stage == "final <b>"', (run) => run.name === "tagged");
  await openRuns("sort=name&columns=status,hparams.seed,tags");
  await userEvent.keyboard("jjj"); // odd, plain, tagged
  await userEvent.keyboard("f");
  const fields = page.getByRole("menu", { name: "Filter by a value of the run" });
  await expect.element(fields).toBeVisible();
  const items = fields.getByRole("menuitem").elements() as HTMLElement[];
  expect(items.map((item) => item.innerText.split(/\s+/))).toEqual([
    ["name", "tagged"],
    ["status", "completed"],
    ["seed", "20240101"],
    ["stage", "final", "<b>"],
  ]);
  await expect.poll(() => isFocusIn("[role=menu]")).toBe(true);
  await userEvent.keyboard("{Escape}");
  await expect.element(fields).not.toBeInTheDocument();
  await expect.poll(() => isFocusIn(".row.cursor")).toBe(true);
  await userEvent.keyboard("f{ArrowUp}{Enter}");
  const values = page.getByRole("menu", { name: "Filter by this value" });
  await expect.element(values.getByRole("menuitem").first()).toBeVisible();
  await expect.poll(() => isFocusIn("[role=menu]")).toBe(true);
  await userEvent.keyboard("{Enter}");
  await countReads("1 run");
  expect(queryOf()["where"]).toBe('tags.stage == "final <b>"');
});

test("every key is listed", async () => {
  await openRuns();
  await userEvent.keyboard("?");
  const keys = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expect.element(keys.getByText("Select the run")).toBeVisible();
  await expect.element(keys.getByText("Filter by a value of the run")).toBeVisible();
  await userEvent.keyboard("{Escape}");
  await expect.element(keys).not.toBeInTheDocument();
});

test("a finger filters by the value of a cell", async () => {
  lab.filter("hparams.seed == 20240101", () => true);
  const endTouch = await useTouch();
  try {
    await openRuns("columns=hparams.seed");
    const row = rowOf("tagged");
    await tap(row.getByRole("cell", { name: "20240101" }));
    await tap(row.getByRole("button", { name: "Filter by this value" }));
    await expect.element(page.getByRole("menuitem").first()).toBeVisible();
    await tap(page.getByRole("menuitem").first());
    await expect.element(page.getByRole("button", { name: "Without hparams.seed" })).toBeVisible();
  } finally {
    await endTouch();
  }
});

test("Tab leads out of the filter unless it completes what was typed", async () => {
  const where = 'status == "completed"';
  lab.filter(where, (run) => run.status === "completed");
  await openPage(lab.server, `/w/lab/runs?where=${where}`);
  await countReads("2 runs");
  const field = page.getByLabelText("Filter runs");
  await userEvent.keyboard("/");
  expect(getSelection()?.toString()).toBe(where);
  await userEvent.keyboard("{Tab}");
  await expect.poll(() => isFocusIn("[aria-label='Clear the filter']")).toBe(true);
  await expect.element(field).toHaveValue(where);
  await userEvent.keyboard("/see");
  await expect.element(page.getByRole("option", { name: "hparams.seed" })).toBeVisible();
  await userEvent.keyboard("{Tab}");
  await expect.element(field).toHaveValue("hparams.seed ");
  await expect.element(page.getByRole("option", { name: "==" })).toBeVisible();
  await userEvent.keyboard("{Tab}");
  await expect.poll(() => isFocusIn("[aria-label='Filter runs']")).toBe(false);
  await expect.element(field).toHaveValue("hparams.seed ");
});

test("arrows reach the first and the last suggestion", async () => {
  await openRuns();
  await userEvent.keyboard("/");
  const offered = page.getByRole("listbox", { name: "Suggestions" }).getByRole("option");
  await expect.element(offered.nth(2)).toBeVisible();
  await userEvent.keyboard("{ArrowUp}");
  await expect.element(page.getByCss("[role=option]:last-child")).toHaveAttribute("aria-selected", "true");
  await userEvent.keyboard("{ArrowDown}");
  await expect.element(page.getByCss("[role=option]:first-child")).toHaveAttribute("aria-selected", "true");
  const first = offered.first().getByCss("code").element().textContent;
  await userEvent.keyboard("{Tab}");
  await expect.poll(() => (page.getByLabelText("Filter runs").element() as HTMLInputElement).value.trim()).toBe(first);
});

test("keys in a dialog or panel do nothing behind it", async () => {
  await openRuns();
  await page.getByRole("checkbox", { name: "Select tagged" }).click();
  await page.getByRole("button", { name: "Tag", exact: true }).click();
  const dialog = page.getByRole("dialog");
  (dialog.getByRole("checkbox", { name: "stage" }).element() as HTMLElement).focus();
  await userEvent.keyboard("c{Escape}");
  await expect.element(dialog).not.toBeInTheDocument();
  await page.getByRole("button", { name: "Columns" }).click();
  (dialog.getByRole("checkbox").first().element() as HTMLElement).focus();
  await userEvent.keyboard("c{Escape}");
  await expect.element(dialog).not.toBeInTheDocument();
  await expect.element(page.getByText("1 run selected")).toBeVisible();
  await userEvent.keyboard("c");
  await expect.element(page.getByText("1 of 1 run plotted")).toBeVisible();
});

test("the first Tab leads past the bar to the content", async () => {
  await openRuns();
  await userEvent.keyboard("{Tab}");
  expect(document.activeElement?.textContent).toBe("To the content");
  await userEvent.keyboard("{Enter}");
  await expect.poll(() => document.activeElement?.id).toBe("content");
  await userEvent.keyboard("{Tab}");
  expect(isFocusIn("main")).toBe(true);
});

test("another filter shows the top of its list", async () => {
  addMany();
  lab.filter("many-01", (run) => run.name?.startsWith("many-01") ?? false);
  await openPage(lab.server, "/w/many/runs?sort=name");
  await expect.element(nameCell("many-0000")).toBeVisible();
  const table = page.getByRole("table").element();
  table.scrollTop = 100 * HEIGHT;
  await expect.element(nameCell("many-0100")).toBeVisible();
  await page.getByLabelText("Filter runs").fill("many-01");
  await userEvent.keyboard("{Enter}");
  await countReads("100 runs that match");
  await expect.element(nameCell("many-0100")).toBeVisible();
  expect(page.getByRole("table").element().scrollTop).toBe(0);
});

/** The places in the list of the rows that are in the document, in its order. */
function rowPlaces(): number[] {
  return page
    .getByCss("[role=table] .row")
    .elements()
    .map((row) => Number(row.ariaRowIndex));
}

test("after scrolling the rows stand in order and the focus stays", async () => {
  // A screen reader and the Tab key follow the document, in which rows are used again while one scrolls.
  addMany();
  await openPage(lab.server, "/w/many/runs?sort=name");
  await expect.element(nameCell("many-0000")).toBeVisible();
  const table = page.getByRole("table").element();
  table.scrollTop = 1510;
  await expect.element(nameCell("many-0053")).toBeVisible();
  (nameCell("many-0053").element() as HTMLElement).focus();
  table.scrollTop = 1390;
  const first = Math.floor(1390 / HEIGHT) - 6 + 2; // rows beyond the edge, the head, and counting from one
  const inOrder = () => rowPlaces().map((_, at) => first + at);
  await expect.poll(() => rowPlaces()[0]).toBe(first);
  await expect.poll(() => rowPlaces()).toEqual(inOrder());
  expect(document.activeElement?.textContent).toBe("many-0053");
  await userEvent.keyboard("{Tab}");
  expect(document.activeElement?.ariaLabel).not.toBeNull();
  expect(document.activeElement?.closest("[role=row]")?.ariaRowIndex).toBe("56");
  const made = rowPlaces().length;
  await page.viewport(1280, 500);
  await expect.poll(() => rowPlaces().length).toBeLessThan(made);
  await expect.poll(() => rowPlaces()).toEqual(inOrder());
});

test("a long list is scrolled to its end with few rows in the document, and saved as a whole", async () => {
  addMany();
  await openPage(lab.server, "/w/many/runs?sort=name&columns=status");
  await countReads("230 runs");
  const table = page.getByRole("table").element();
  table.scrollTop = table.scrollHeight;
  await expect.element(nameCell(`many-0${MANY - 1}`)).toBeVisible();
  expect(page.getByRole("row").elements().length).toBeLessThan(80);
  const text = await downloadedText(() => page.getByRole("button", { name: "CSV" }).click());
  const names = text
    .trimEnd()
    .split(/\r?\n/)
    .slice(1)
    .map((line) => line.split(",")[1]);
  expect(names).toEqual(lab.runs.filter((run) => run.workspace === "many").map((run) => run.name));
});
