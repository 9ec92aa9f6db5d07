// SPDX-License-Identifier: Apache-2.0
// Parameters against metrics: which runs are asked for, what comes back after a reload, addresses that are odd.
import { beforeEach, expect, test } from "vitest";
import { page } from "vitest/browser";
import { drag, placeIn } from "../../testing/gestures";
import { goTo, openPage, reloadPage } from "../../testing/open_page";
import { sweepRuns } from "../../testing/run_fixtures";
import { StubRuns } from "../../testing/stub_runs";

const PARAMETERS = "/w/lab/compare?tab=parameters";
let lab: StubRuns;

beforeEach(() => {
  lab = new StubRuns(sweepRuns());
  lab.filter("hparams.seed == 0", (run) => run.hparams["seed"] === 0);
  lab.filter("hparams.seed == 1", (run) => run.hparams["seed"] === 1);
  lab.filter("hparams.lr == 0.1", (run) => run.hparams["lr"] === 0.1);
});

function largeRequests(): number {
  return lab.server.requestsTo("/api/v1/runs").filter(({ query }) => query.get("limit") === "1000").length;
}

test("parameters are asked for once and a late answer is not waited for", async () => {
  let aborted: boolean | undefined;
  lab.server.on("get", "/api/v1/runs", ({ query, signal }, next) => {
    if (query.get("limit") !== "1000" || query.get("where") !== "hparams.seed == 1") return next();
    aborted = false;
    signal?.addEventListener("abort", () => (aborted = true));
    return new Promise(() => undefined);
  });
  await openPage(lab.server, `${PARAMETERS}&where=hparams.seed == 0`);
  await expect.element(page.getByText("4 runs; drag along an axis")).toBeVisible();
  const before = largeRequests();
  const rate = page.getByRole("group", { name: "Axes" }).getByRole("button", { name: "lr" });
  await rate.click();
  await expect.element(rate).toHaveAttribute("aria-pressed", "false");
  expect(largeRequests()).toBe(before);
  goTo(`${PARAMETERS}&where=hparams.seed == 1`);
  await expect.poll(() => aborted).toBe(false);
  goTo(`${PARAMETERS}&where=hparams.lr == 0.1`);
  await expect.poll(() => aborted).toBe(true);
  await expect.element(page.getByText("2 runs; drag along an axis")).toBeVisible();
});

test("the axis of the scatter and what was chosen come back", async () => {
  await openPage(lab.server, PARAMETERS);
  await expect.element(page.getByCss("rect.handle").first()).toBeInTheDocument();
  const { x, y } = placeIn(page.getByCss("rect.handle").first(), 0.5, 0);
  await drag({ x, y: y + 2 }, { x, y: y + 60 });
  const chosen = page.getByRole("status").filter({ hasText: "chosen" });
  await expect.element(chosen).toHaveTextContent("of 8 chosen");
  const text = chosen.element().textContent;
  await page.getByLabelText("Scatter of").selectOptions("optimizer");
  await reloadPage(lab.server);
  await expect.element(chosen).toHaveTextContent(text.trim());
  await expect.poll(() => page.getByCss("rect.brush").elements().length).toBe(1);
  await expect.element(page.getByLabelText("Scatter of").getByCss("option:checked")).toHaveTextContent("optimizer");
});

test.each(["axes=", "axes=hparams.lr,hparams.lr", "chosen=0~1~hparams.lr,x"])(
  "parameters of an odd address are shown: %s",
  async (query) => {
    await openPage(lab.server, `${PARAMETERS}&${query}`);
    await expect.poll(() => page.getByCss("svg .line").elements().length).toBe(8);
  },
);
