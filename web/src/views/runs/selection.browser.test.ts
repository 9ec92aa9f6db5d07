// SPDX-License-Identifier: Apache-2.0
// Runs that are selected or plotted, and what is done with them.
import { beforeEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { goTo, openPage, queryOf } from "../../testing/open_page";
import { sweepRuns } from "../../testing/run_fixtures";
import { StubRuns } from "../../testing/stub_runs";
import { Held } from "../../testing/stub_server";
import { nameCell } from "../../testing/table_rows";

const RUNS = "/w/lab/runs";
const MANY = 230;
let lab: StubRuns;

beforeEach(() => {
  lab = new StubRuns(sweepRuns());
});

function addMany(): void {
  for (let index = 0; index < MANY; index++)
    lab.add({ name: `many-${String(index).padStart(4, "0")}`, workspace: "many" });
}

function button(name: string) {
  return page.getByRole("button", { name, exact: true });
}

test("runs are tagged, noted, renamed, deleted and restored", async () => {
  const { uid } = lab.add({ name: "doomed" });
  const doomed = () => lab.runs.find((run) => run.uid === uid);
  lab.filter('name contains "doomed"', (run) => run.name?.includes("doomed") ?? false);
  await openPage(lab.server, `${RUNS}?where=name contains "doomed"`);
  await page.getByRole("checkbox", { name: "Select doomed" }).click();
  await button("Tag").click();
  await userEvent.keyboard("<i>odd</i>");
  await page.getByLabelText("Value (optional)").fill("yes");
  await userEvent.keyboard("{Enter}");
  await expect.element(page.getByCss("[role=cell] .tag")).toHaveTextContent("<i>odd</i>: yes");
  await button("Note").click();
  await userEvent.keyboard("look at this{Enter}again");
  await userEvent.keyboard("{Control>}{Enter}{/Control}");
  await expect.poll(() => doomed()?.notes.map((note) => note.text)).toEqual(["look at this\nagain"]);
  await page.getByRole("button", { name: "Rename" }).click();
  await userEvent.keyboard("doomed again{Enter}");
  await expect.element(nameCell("doomed again")).toBeVisible();
  await button("Experiment").click();
  await userEvent.keyboard("last{Enter}");
  await expect.poll(() => doomed()?.experiment).toBe("last");
  await expect.element(page.getByRole("dialog")).not.toBeInTheDocument();
  await page.getByRole("button", { name: "Move to trash" }).click();
  await expect.element(page.getByText("No run matches this filter")).toBeVisible();
  expect(doomed()?.deleted).toBeTruthy();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.element(nameCell("doomed again")).toBeVisible();
  expect(doomed()?.deleted).toBeUndefined();
  lab.change(uid, { deleted: "2026-11-02T00:00:00Z" });
  await button("Trash").click();
  await page.getByRole("checkbox", { name: "Select doomed again" }).click();
  await page.getByRole("button", { name: "Restore" }).click();
  await expect.element(page.getByText("No run matches this filter")).toBeVisible();
  expect(doomed()?.deleted).toBeUndefined();
});

test("the eye is apart from the selection and both lead to the comparison", async () => {
  await openPage(lab.server, `${RUNS}?first=2&sort=name`);
  const eye = (name: string) => page.getByRole("button", { name: `Plot ${name}` });
  await expect.element(eye("sweep-1")).toHaveAttribute("aria-pressed", "true");
  await eye("sweep-1").click();
  await eye("sweep-5").click();
  await page.getByRole("link", { name: "Compare 2 plotted" }).click();
  await expect.element(page.getByText("2 of 8 runs plotted")).toBeVisible();
  await expect.element(eye("sweep-5")).toHaveAttribute("aria-pressed", "true");
  history.back();
  await expect.element(nameCell("sweep-0")).toBeVisible();
  await userEvent.keyboard("jxjx");
  await expect.element(page.getByText("2 runs selected")).toBeVisible();
  await userEvent.keyboard("c");
  await expect.element(page.getByText("2 of 2 runs plotted")).toBeVisible();
  expect(queryOf()["runs"]).toMatch(RegExp(`^${lab.number("sweep-0")}\\b`));
});

test("the box at the head selects every run of the filter", async () => {
  addMany();
  lab.filter("many", (run) => run.name?.includes("many") ?? false);
  await openPage(lab.server, "/w/many/runs?sort=name&where=many");
  await expect.element(nameCell("many-0000")).toBeVisible();
  await page.getByLabelText("Select all").click();
  await expect.element(page.getByText(`${MANY} runs selected`)).toBeVisible();
  await button("Experiment").click();
  await userEvent.keyboard("swept{Enter}");
  await expect.element(page.getByText(`${MANY} runs changed`)).toBeVisible();
  expect(lab.runs.filter((run) => run.experiment === "swept").length).toBe(MANY);
  await page.getByRole("checkbox", { name: "Select many-0001" }).click();
  await expect.element(page.getByText(`${MANY - 1} runs selected`)).toBeVisible();
  await expect.element(page.getByLabelText("Select all")).toBePartiallyChecked();
  await page.getByLabelText("Select all").click();
  await expect.element(page.getByText(`${MANY} runs selected`)).toBeVisible();
  await page.getByLabelText("Select none").click();
  await expect.element(page.getByText("runs selected")).not.toBeInTheDocument();
});

test("the box at the head is checked once the runs have come", async () => {
  addMany();
  const held = new Held<void>();
  let isAsked = false;
  lab.server.on("get", "/api/v1/runs", async ({ query }, next) => {
    if (query.get("limit") === String(MANY)) {
      isAsked = true;
      await held.promise;
    }
    return next();
  });
  await openPage(lab.server, "/w/many/runs?sort=name");
  await expect.element(nameCell("many-0000")).toBeVisible();
  await page.getByLabelText("Select all").click();
  await expect.poll(() => isAsked).toBe(true);
  await expect.element(page.getByLabelText("Select all")).not.toBeChecked();
  await expect.element(page.getByText("runs selected")).not.toBeInTheDocument();
  held.release();
  await expect.element(page.getByText(`${MANY} runs selected`)).toBeVisible();
  await expect.element(page.getByLabelText("Select none")).toBeChecked();
});

test("Shift selects all rows between, also those that have not come", async () => {
  addMany();
  // The first request for the second page is never answered.
  let held: string | undefined;
  lab.server.on("get", "/api/v1/runs", ({ query }, next) => {
    const after = query.get("after");
    if (!after || query.get("limit") !== "100" || after !== (held ?? after)) return next();
    held = after;
    return new Promise(() => undefined);
  });
  await openPage(lab.server, "/w/many/runs?sort=name");
  await page.getByRole("checkbox", { name: "Select many-0000" }).click();
  await expect.poll(() => held).toBeDefined();
  const table = page.getByRole("table").element();
  table.scrollTop = table.scrollHeight;
  const last = page.getByRole("checkbox", { name: `Select many-0${MANY - 1}` });
  await last.click({ modifiers: ["Shift"] });
  await expect.element(page.getByText(`${MANY} runs selected`)).toBeVisible();
  await last.click({ modifiers: ["Shift"] });
  await expect.element(last).toBeChecked();
  await expect.element(page.getByText(`${MANY} runs selected`)).toBeVisible();
});

test("a run keeps its colour on every page", async () => {
  const kept = Object.fromEntries(["sweep-1", "sweep-6"].map((name, at) => [lab.named(name).uid, at + 9]));
  localStorage.setItem("aboard.colours", JSON.stringify(kept));
  await openPage(lab.server, `${RUNS}?first=8`);
  const colours = new Set<string>();
  const compare = "/w/lab/compare";
  for (const address of [`${RUNS}?first=8`, `${compare}?runs=${lab.number("sweep-6")}`, `${compare}?first=8`]) {
    goTo(address);
    const dot = page.getByRole("button", { name: "Plot sweep-6" }).getByCss("[style]");
    await expect.element(dot).toBeVisible();
    colours.add(getComputedStyle(dot.element()).backgroundColor);
  }
  expect(colours.size).toBe(1);
});
