// SPDX-License-Identifier: Apache-2.0
// Filters of the table of runs: typed, completed, clicked together, refused.
import { beforeEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { openPage, queryOf, reloadPage } from "../../testing/open_page";
import { sweepRuns } from "../../testing/run_fixtures";
import { StubRuns } from "../../testing/stub_runs";
import { refuse } from "../../testing/stub_server";
import { countReads, nameCell } from "../../testing/table_rows";

const RUNS = "/w/lab/runs";
let lab: StubRuns;

beforeEach(() => {
  lab = new StubRuns(sweepRuns());
  lab.server.on("get", "/api/v1/field-values", ({ query }) => {
    const values: Record<string, string[]> = {
      "hparams.optimizer": ['"adam"', '"sgd"'],
      "hparams.lr": ["0.001", "0.01"],
      "tags.best": ['""'],
    };
    const prefix = (query.get("prefix") ?? "").toLowerCase();
    const found = (values[query.get("field") ?? ""] ?? []).filter((text) => text.replace('"', "").startsWith(prefix));
    return { items: found.map((text) => ({ text, runs: 1 })) };
  });
});

async function option(name: string): Promise<void> {
  await page.getByRole("option", { name }).click();
}

test("a filter is completed while it is typed and stands in the address", async () => {
  lab.filter("hparams.lr < 0.05", (run) => Number(run.hparams["lr"]) < 0.05);
  lab.filter(
    'hparams.lr < 0.05 and status == "completed"',
    (run) => Number(run.hparams["lr"]) < 0.05 && run.status === "completed",
  );
  await openPage(lab.server, RUNS);
  await expect.element(nameCell("sweep-0")).toBeVisible();
  await userEvent.keyboard("/");
  await userEvent.keyboard("lr");
  await option("hparams.lr");
  await userEvent.keyboard("< 0.05 and status == ");
  await option('"completed"');
  await userEvent.keyboard("{Enter}");
  await countReads("3 runs that match");
  expect(queryOf()["where"]).toBe('hparams.lr < 0.05 and status == "completed"');
  await reloadPage(lab.server);
  await countReads("3 runs that match");
  await page.getByRole("button", { name: "Without status" }).click();
  await countReads("4 runs that match");
  expect(queryOf()["where"]).toBe("hparams.lr < 0.05");
});

test("values that runs have are offered while a filter is typed", async () => {
  const whole = 'hparams.optimizer == "sgd" and tags.best == "" and hparams.lr in [0.001 ]';
  lab.filter(whole, (run) => run.name === "sweep-0");
  await openPage(lab.server, RUNS);
  await expect.element(nameCell("sweep-0")).toBeVisible();
  await userEvent.keyboard("/");
  await userEvent.keyboard("hparams.optimizer == ");
  await expect.element(page.getByRole("option", { name: '"adam"' })).toBeVisible();
  await userEvent.keyboard('"S');
  await expect.element(page.getByRole("option", { name: '"adam"' })).not.toBeInTheDocument();
  await option('"sgd"');
  await userEvent.keyboard("and tags.");
  await option("tags.best");
  await userEvent.keyboard("== ");
  await option('""');
  await userEvent.keyboard("and hparams.lr in [[0.0");
  await option("0.001");
  await userEvent.keyboard("]{Enter}");
  await countReads("1 run that match");
  expect(queryOf()["where"]).toBe(whole);
});

test("values that cannot be looked up leave the completion as it is", async () => {
  lab.filter('user == "x" or status == "completed"', (run) => run.status === "completed");
  lab.server.on("get", "/api/v1/field-values", () => refuse(400, "FilterError", "No."));
  await openPage(lab.server, RUNS);
  await expect.element(nameCell("sweep-0")).toBeVisible();
  await userEvent.keyboard("/");
  await userEvent.keyboard("user == ");
  await expect.poll(() => lab.server.requestsTo("/api/v1/field-values").length).toBeGreaterThan(0);
  await userEvent.keyboard('"x" or status == "comp');
  await option('"completed"');
  await userEvent.keyboard("{Enter}");
  await countReads("7 runs that match");
});

test("an error in a filter is marked at its place", async () => {
  const wrong = "hparams.lr < and 1";
  lab.filter(wrong, refuse(400, "FilterError", "A value is expected", { text: wrong, start: 13, end: 16 }));
  await openPage(lab.server, `${RUNS}?where=${encodeURIComponent(wrong)}`);
  await expect.element(page.getByCss("#query-error mark")).toHaveTextContent("and");
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await countReads("8 runs");
});

test("a click on a value writes the filter", async () => {
  lab.filter('hparams.optimizer == "adam"', (run) => run.hparams["optimizer"] === "adam");
  lab.filter(
    'hparams.optimizer == "adam" and status == "completed"',
    (run) => run.hparams["optimizer"] === "adam" && run.status === "completed",
  );
  await openPage(lab.server, `${RUNS}?columns=hparams.optimizer`);
  const row = page.getByRole("row").filter({ hasText: "sweep-1" });
  await row.getByRole("cell").filter({ hasText: "adam" }).hover();
  await page.getByRole("button", { name: "Filter by this value" }).click();
  await page.getByRole("menuitem").first().click();
  await countReads("4 runs that match");
  expect(queryOf()["where"]).toBe('hparams.optimizer == "adam"');
  await page.getByRole("button", { name: "Filters" }).click();
  await page.getByRole("button", { name: "completed" }).click();
  await countReads("3 runs that match");
});
