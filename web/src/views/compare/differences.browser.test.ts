// SPDX-License-Identifier: Apache-2.0
// Runs side by side: numbers compared whole, code, packages and machines.
import { beforeEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import { footerReads } from "../../testing/charts";
import { isListening, sendChange } from "../../testing/event_streams";
import { openPage, reloadPage } from "../../testing/open_page";
import { StubFiles } from "../../testing/stub_files";
import { StubRuns } from "../../testing/stub_runs";

const NAMES = ["one", "two", "three"];
let lab: StubRuns;
let files: StubFiles;

beforeEach(() => {
  lab = new StubRuns(
    NAMES.map((name, index) => ({
      name,
      hparams: { seed: 20240101 + index, lr: 0.001 * 10 ** index, rate: index === 2 ? "NaN" : 0.5 + index, same: 1 },
      metrics: { loss: [index === 2 ? "NaN" : 0.25 * (index + 1)] },
      curves: { loss: [1, 2] },
      details: {
        attempts: [
          { number: 1, status: "failed", host: "first-host" },
          {
            number: 2,
            status: "completed",
            host: "second-host",
            machine: { cpu_count: 8 * (index + 1) },
            python: { version: "3.11.7", packages: { numpy: `1.${index}`, same: "1" } },
          },
        ],
      },
    })),
  );
  files = new StubFiles(lab);
});

function differences(...names: string[]): string {
  return `/w/lab/compare?runs=${names.map((name) => lab.number(name)).join()}&tab=differences`;
}

function row(name: string) {
  return page.getByRole("row").filter({ has: page.getByRole("rowheader", { name, exact: true }) });
}

/** The cells of a row. */
async function cells(name: string): Promise<string[]> {
  await expect.element(row(name).first()).toBeVisible();
  return row(name)
    .first()
    .getByRole("cell")
    .elements()
    .map((cell) => (cell as HTMLElement).innerText.trim());
}

test("numbers are compared with a reference, which can be another run", async () => {
  await openPage(lab.server, differences("one", "two"));
  // Seeds that differ in their last digit differ.
  expect(await cells("seed")).toEqual(["20240101", expect.stringMatching(/^20240102\s*\+1/)]);
  expect((await cells("lr"))[1]).toContain("+0.009 (+900 %)");
  expect(row("same").query()).toBeNull();
  await page.getByRole("button", { name: "make reference" }).click();
  await expect.element(row("lr")).toHaveTextContent("(−90.0 %)");
});

test("metrics, packages and machines are compared", async () => {
  await openPage(lab.server, differences("one", "two"));
  expect((await cells("loss last"))[1]).toContain("+0.25 (+100 %)");
  expect(await cells("numpy")).toEqual(["1.0", "1.1"]);
  expect((await cells("cpu_count")).map((cell) => cell.split(/\s/)[0])).toEqual(["8", "16"]);
  const groups = page
    .getByCss("th[scope=rowgroup]")
    .elements()
    .map((head) => head.textContent);
  for (const group of ["Metrics", "Packages", "Machine"]) expect(groups.filter((one) => one === group).length).toBe(1);
  await page.getByRole("checkbox", { name: "Only what differs" }).click();
  expect(await cells("same")).toEqual(["1", "1"]);
});

test("NaN differs from a number", async () => {
  await openPage(lab.server, differences("one", "three"));
  expect(await cells("rate")).toEqual(["0.5", "NaN"]);
  expect(await cells("loss last")).toEqual(["0.25", "NaN"]);
});

test("metrics of a running run follow the run", async () => {
  const { uid, number } = lab.add({ name: "living", status: "running", metrics: { loss: [4] } });
  await openPage(lab.server, `/w/lab/compare?runs=${number}&tab=differences&all=1`);
  await expect.poll(() => cells("loss last")).toEqual(["4"]);
  await expect.poll(isListening).toBe(true);
  const later = new StubRuns([{ name: "living", metrics: { loss: [4, 3] } }]).named("living");
  lab.change(uid, { metrics: later.metrics });
  sendChange("run");
  await expect.poll(() => cells("loss last")).toEqual(["3"]);
});

test("a field that no run has is reported as such", async () => {
  await openPage(lab.server, differences("one", "two"));
  await cells("seed");
  await page.getByLabelText("Find a field").fill("nonsense");
  await expect.element(page.getByText("No field matches")).toBeVisible();
  await expect.element(page.getByText("do not differ")).not.toBeInTheDocument();
  await reloadPage(lab.server);
  await expect.element(page.getByText("No field matches")).toBeVisible();
  await expect.element(page.getByLabelText("Find a field")).toHaveValue("nonsense");
  await page.getByRole("button", { name: "Show all fields" }).click();
  await cells("seed");
});

function diff(name: string, line: string): string {
  return `diff --git a/${name} b/${name}\nindex 111..222 100644\n--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n-rate = 1\n+${line}\n`;
}

test("changes of code stand side by side, file by file", async () => {
  for (const [index, name] of NAMES.entries()) {
    const changes = diff("train.py", `rate = ${index + 2}`) + diff("alike.py", "x");
    files.put(lab.named(name), "log/2.diff", changes + (index ? "" : diff("only_one.py", "y")));
  }
  await openPage(lab.server, differences(...NAMES));
  const changed = page.getByRole("region", { name: "train.py" });
  await expect.element(changed).toBeVisible();
  const added = changed.getByCss(".added").elements() as HTMLElement[];
  expect(added.map((line) => line.innerText.trim())).toEqual(["+rate = 2", "+rate = 3"]);
  await expect.element(page.getByRole("region", { name: "only_one.py" }).getByText("as committed")).toBeVisible();
  await expect.element(page.getByRole("region", { name: "alike.py" })).not.toBeInTheDocument();
  await expect.element(page.getByText("1 file with identical changes")).toBeVisible();
  await page.getByLabelText("Run", { exact: true }).selectOptions("three");
  await expect.element(changed.getByText("+rate = 4")).toBeVisible();
  await reloadPage(lab.server);
  await expect.element(changed.getByText("+rate = 4")).toBeVisible();
});

test("seeds that differ in their last digit are groups of their own", async () => {
  await openPage(lab.server, `/w/lab/compare?runs=1,2&group=hparams.seed`);
  await footerReads("loss", "2 curves");
  const groups = page.getByCss("aside li .group").elements() as HTMLElement[];
  expect(groups.map((group) => group.innerText).sort()).toEqual(["20240101", "20240102"]);
});

test("attempts of a run are listed", async () => {
  await openPage(lab.server, `/w/lab/runs/${lab.number("one")}`);
  const attempts = page.getByCss(".attempt");
  await expect.poll(() => attempts.elements().length).toBe(2);
  await expect.element(attempts.nth(0)).toHaveTextContent("first-host");
  await expect.element(attempts.nth(1)).toHaveTextContent("second-host");
});
