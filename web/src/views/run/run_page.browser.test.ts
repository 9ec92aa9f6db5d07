// SPDX-License-Identifier: Apache-2.0
// The page of a run: what it is, its charts, its files, its code and its machine.
import { beforeEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { chartOf, drawnRows, footerReads } from "../../testing/charts";
import { moveMouse, placeIn } from "../../testing/gestures";
import { goTo, openPage, queryOf, reloadPage } from "../../testing/open_page";
import { annotation, curveOf } from "../../testing/run_fixtures";
import { StubFiles } from "../../testing/stub_files";
import { StubRuns } from "../../testing/stub_runs";

const RUN = "/w/lab/runs/1";
let lab: StubRuns;

beforeEach(() => {
  lab = new StubRuns([
    { name: "trained", metrics: { "train/loss": [1, 0.5] }, curves: { loss: [1, 0.5, 0.25] }, hparams: { lr: 0.5 } },
  ]);
});

test("a run shows what it is, and keys lead to its tabs", async () => {
  await openPage(lab.server, RUN);
  await expect.element(page.getByRole("heading", { name: "trained" })).toBeVisible();
  await expect.element(page.getByRole("rowheader", { name: "train/loss" })).toBeVisible();
  await expect.element(page.getByText("0.5", { exact: true }).first()).toBeVisible();
  await userEvent.keyboard("2");
  await chartOf("loss");
});

test("superseded points are drawn on request", async () => {
  const run = lab.named("trained");
  const steps = Array.from({ length: 20 }, (_, at) => at + 10);
  lab.superseded.push(
    curveOf(
      run,
      "",
      "loss",
      steps,
      steps.map(() => 1),
    ),
  );
  await openPage(lab.server, `${RUN}?tab=charts`);
  const chart = await chartOf("loss");
  const curves = async () => [...new Set((await drawnRows("loss")).map((row) => row["curve"]))].sort();
  await expect.element(chart.getByText("20 superseded points")).toBeVisible();
  expect(await curves()).toEqual(["trained"]);
  await chart.getByRole("button", { name: "Show", exact: true }).click();
  await expect.poll(curves).toEqual(["trained", "trained · superseded"]);
  const old = (await drawnRows("loss")).filter((row) => row["curve"] !== "trained");
  expect(old.map((row) => [Number(row["x"]), Number(row["loss"])])).toEqual(steps.map((step) => [step, 1]));
  expect(queryOf()["superseded"]).toBe("1");
  await chart.getByRole("button", { name: "Hide", exact: true }).click();
  await expect.poll(curves).toEqual(["trained"]);
});

/** Point at a share of the axis until a moment is shown there: events come behind the points. */
async function momentAt(tag: string, share: number): Promise<string> {
  const { x, y } = placeIn((await chartOf(tag)).getByCss(".plot"), share);
  const moment = page.getByCss(".tooltip .moment");
  await expect
    .poll(async () => {
      await moveMouse({ x: x + 2, y });
      await moveMouse({ x, y });
      return moment.query();
    })
    .not.toBeNull();
  return moment.first().element().textContent.trim();
}

test("events and attempts stand on the axis", async () => {
  const run = lab.named("trained");
  lab.annotations.push(annotation(run, "rate <b>halved</b>", 1, { lr: 0.25 }));
  await openPage(lab.server, RUN);
  const label = "rate <b>halved</b> (lr 0.25)";
  const event = page.getByRole("row").filter({ has: page.getByRole("rowheader", { name: label }) });
  await expect.element(event.getByRole("cell").first()).toHaveTextContent("1");
  await userEvent.keyboard("2");
  expect(await momentAt("loss", 1 / 2)).toContain(`trained: ${label}`);
  const restarted = lab.add({ name: "restarted", curves: { slow: Array<number>(9).fill(1) } });
  const started = (seconds: number) => new Date(seconds * 1000).toISOString();
  lab.change(restarted.uid, {
    attempts: [
      { number: 1, status: "failed", started: started(1000) },
      { number: 2, status: "completed", started: started(1002.5) },
    ],
  });
  goTo(`/w/lab/compare?runs=${restarted.number}`);
  expect(await momentAt("slow", 3 / 8)).toContain("restarted: attempt 2");
});

test("files are found by their paths, also after a reload", async () => {
  const files = new StubFiles(lab);
  for (const path of ["log/1.log", "output/model.pt"]) files.put(lab.named("trained"), path, "text");
  await openPage(lab.server, `${RUN}?tab=files`);
  const paths = () =>
    page
      .getByCss("tbody a")
      .elements()
      .map((link) => link.textContent);
  await expect.poll(paths).toEqual(["log/1.log", "output/model.pt"]);
  await page.getByLabelText("Find a file").fill("LOG/1");
  await expect.poll(paths).toEqual(["log/1.log"]);
  await reloadPage(lab.server);
  await expect.poll(paths).toEqual(["log/1.log"]);
  await expect.element(page.getByLabelText("Find a file")).toHaveValue("LOG/1");
});

test("code, packages and the command are shown", async () => {
  const run = lab.named("trained");
  new StubFiles(lab).put(run, "log/1.diff", "diff --git a/train.py b/train.py\n+# a change\n");
  lab.change(run.uid, {
    attempts: [{ number: 1, status: "completed", command: "python train.py", python: { packages: { numpy: "1.0" } } }],
  });
  await openPage(lab.server, `${RUN}?tab=code`);
  await expect.element(page.getByCss(".added").filter({ hasText: "a change" })).toBeVisible();
  await expect.element(page.getByRole("heading", { name: "Packages" })).toBeVisible();
  await expect.element(page.getByText("python train.py")).toBeVisible();
});

test("the use of the machine has charts of its own", async () => {
  const measured = lab.add({ name: "measured", curves: { loss: [1, 2], "system:cpu/percent": [10, 50, 90] } });
  const charts = () => page.getByCss("section[data-tag]").elements().length;
  await openPage(lab.server, `/w/lab/runs/${measured.number}?tab=charts`);
  await footerReads("loss", "1 curve · 2 points");
  expect(charts()).toBe(1);
  await page.getByRole("tab", { name: "System" }).click();
  await footerReads("cpu/percent", "1 curve · 3 points");
  expect(charts()).toBe(1);
  goTo(`${RUN}?tab=system`);
  await expect.element(page.getByText("No system metrics")).toBeVisible();
});

test("addresses that lead nowhere say so", async () => {
  await openPage(lab.server, "/w/lab/nonsense");
  await expect.element(page.getByText("There is nothing at this address")).toBeVisible();
  await page.getByRole("link", { name: "All runs" }).click();
  await expect.element(page.getByCss("a.name")).toHaveTextContent("trained");
  goTo("/w/lab/runs/999999");
  await expect.element(page.getByRole("alert")).toHaveTextContent("999999");
});

test("a curve of NaN and a run without scalars are shown as such", async () => {
  const { number } = lab.add({ name: "nan", curves: { nan: Array<number>(5).fill(NaN) } });
  const empty = lab.add({ name: "nothing" });
  await openPage(lab.server, `/w/lab/compare?runs=${number}`);
  await expect.element(page.getByCss("section[data-tag=nan] footer")).toHaveTextContent("5 points");
  goTo(`/w/lab/compare?runs=${empty.number}`);
  await expect.element(page.getByText("These runs have no scalars")).toBeVisible();
  goTo(`/w/lab/runs/${empty.number}`);
  await expect.element(page.getByText("This run has logged no scalars")).toBeVisible();
});
