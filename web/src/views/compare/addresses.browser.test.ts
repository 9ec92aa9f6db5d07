// SPDX-License-Identifier: Apache-2.0
// What the address keeps of a comparison, also while it changes quickly; and addresses that are odd.
import { beforeEach, expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { chartOf } from "../../testing/charts";
import { moveMouse, placeIn } from "../../testing/gestures";
import { openPage, queryOf, reloadPage } from "../../testing/open_page";
import { curveOf, sweepRuns } from "../../testing/run_fixtures";
import { StubRuns } from "../../testing/stub_runs";

const LONG = 10_000;
let lab: StubRuns;

beforeEach(() => {
  lab = new StubRuns(sweepRuns());
});

function button(name: string) {
  return page.getByRole("button", { name });
}

/** The colours of the runs at the left that are plotted. */
function colours(): Map<string, string> {
  const items = page.getByCss("aside li").elements() as HTMLElement[];
  const found = items.map((item): [string, string] => [
    item.innerText.trim(),
    item.querySelector<HTMLElement>(".eye i")?.style.background ?? "",
  ]);
  return new Map(found.filter(([, colour]) => colour));
}

test("a run that is hidden takes no colour of others with it", async () => {
  await openPage(lab.server, "/w/lab/compare?sort=name");
  await expect.element(page.getByText("8 of 8 runs plotted")).toBeVisible();
  const before = colours();
  expect(before.size).toBe(8);
  await button("Plot sweep-0").click();
  await expect.element(page.getByText("7 of 8 runs plotted")).toBeVisible();
  const after = colours();
  expect(after.size).toBe(7);
  for (const [name, colour] of after) expect(before.get(name), name).toBe(colour);
});

test("a large chart, its scale and the run that is looked for come back", async () => {
  lab.filter('name contains "sweep-3"', (run) => run.name === "sweep-3");
  await openPage(lab.server, "/w/lab/compare?first=2&tags=optim");
  const chart = await chartOf("optim/norm");
  await page.getByLabelText("Find a run").fill("sweep-3");
  await chart.hover();
  await chart.getByRole("button", { name: "Logarithmic" }).click();
  await chart.getByRole("button", { name: "Expand" }).click();
  await expect.element(page.getByRole("dialog").getByCss("canvas").first()).toBeVisible();
  await reloadPage(lab.server);
  const large = page.getByRole("dialog").getByCss("section[data-tag='optim/norm']");
  await expect.element(large.getByCss("canvas").first()).toBeVisible();
  await expect.element(large.getByRole("button", { name: "Logarithmic" })).toHaveAttribute("aria-pressed", "true");
  await expect.poll(() => page.getByCss("aside li").elements().length).toBe(1);
  await expect.element(page.getByCss("aside li")).toHaveTextContent("sweep-3");
});

test("a run behind the listed ones is found by its name and plotted", async () => {
  for (let index = 0; index < 230; index++)
    lab.add({ name: `many-${String(index).padStart(4, "0")}`, workspace: "many" });
  await openPage(lab.server, "/w/many/compare?sort=name&first=2");
  await expect.element(page.getByText("2 of 100+ runs plotted")).toBeVisible();
  for (const text of ["many-0229", "nothing like it"])
    lab.filter(`name ilike "%${text}%"`, (run) => run.name?.includes(text) ?? false);
  await page.getByLabelText("Find a run").fill("many-0229");
  await button("Plot many-0229").click();
  await expect.element(button("Plot many-0229")).toHaveAttribute("aria-pressed", "true");
  await expect.element(page.getByText("3 of 101+ runs plotted")).toBeVisible();
  await page.getByLabelText("Find a run").fill("nothing like it");
  await expect.element(page.getByText("No runs match “nothing like it”.")).toBeVisible();
});

/** Move the slider of the smoothing through 300 places at once. */
function dragAmount(): void {
  const input = page.getByLabelText("Amount").element() as HTMLInputElement;
  for (let at = 1; at <= 300; at++) {
    input.value = String(at / 1000);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

async function openSmoothing(): Promise<void> {
  await openPage(lab.server, "/w/lab/compare?first=2&smoothing=gaussian");
  await button("Smoothing").click();
  await expect.element(page.getByLabelText("Amount")).toBeVisible();
}

test("a browser that refuses to write the address leaves the page alive", async () => {
  lab.server.on("get", "/api/v1/boards", () => ({ items: [], next: null }));
  const copied = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
  await openSmoothing();
  vi.spyOn(history, "replaceState").mockImplementation(() => {
    throw new DOMException("too often", "SecurityError");
  });
  dragAmount();
  await expect.element(button("Smoothing")).toHaveTextContent("Smoothing: 0.3");
  await button("Saved views").click();
  await button("Copy link").click();
  await expect.element(page.getByText("Link copied")).toBeVisible();
  expect(copied.mock.lastCall?.[0].split(/[?&]/)).toContain("amount=0.3");
  await page.getByRole("link", { name: "Boards" }).click();
  await expect.poll(() => location.pathname).toBe("/w/lab/boards");
});

test("the address follows what is dragged seldom and to its end", async () => {
  await openSmoothing();
  const written = vi.spyOn(history, "replaceState");
  dragAmount();
  await expect.poll(() => queryOf()["amount"]).toBe("0.3");
  expect(written.mock.calls.length).toBeLessThan(100);
});

test("a change that was dragged is there when one comes back", async () => {
  await openSmoothing();
  dragAmount();
  (page.getByRole("navigation").getByRole("link", { name: "Runs" }).element() as HTMLElement).click();
  await expect.poll(() => location.pathname).toBe("/w/lab/runs");
  history.back();
  await expect.poll(() => queryOf()["amount"]).toBe("0.3");
  await expect.element(button("Smoothing")).toHaveTextContent("Smoothing: 0.3");
});

test("charts that failed come when the server is back", async () => {
  let isAway = true;
  const away = (_: unknown, next: () => Response | Promise<Response>) =>
    isAway ? Promise.reject(new TypeError("Failed to fetch")) : next();
  for (const path of ["/api/v1/charts", "/api/v1/series", "/healthz"] as const)
    lab.server.on("get", path, away as never);
  await openPage(lab.server, `/w/lab/compare?runs=${lab.number("sweep-0")}&tags=optim`);
  await expect.element(page.getByCss("section[data-tag='optim/norm'] .bad")).toBeVisible();
  isAway = false;
  await chartOf("optim/norm");
});

test("at most 500 runs are compared", async () => {
  for (let number = lab.runs.length + 1; number <= 600; number++) lab.add({ name: `run ${number}` });
  await openPage(lab.server, "/w/lab/compare?runs=1-600");
  await expect.element(page.getByText("The first 500 of 600 are compared")).toBeVisible();
  const numbers = lab.server.requestsTo("/api/v1/tags")[0]?.query.getAll("run");
  expect(numbers).toEqual(Array.from({ length: 500 }, (_, at) => String(at + 1)));
});

const TWICE: [string, number][] = [
  ["pinned=loss,loss", 3],
  ["derived=loss,loss&pinned=loss", 4],
  ["runs=1,1,2", 2],
];

test.each(TWICE)("charts of an address that names something twice are shown: %s", async (query, charts) => {
  await openPage(lab.server, `/w/lab/compare?${query}`);
  await chartOf("loss");
  await expect.poll(() => page.getByCss("section[data-tag]").elements().length).toBe(charts);
});

test("a section that an address names twice is closed once", async () => {
  const parts = Array.from({ length: 8 }, (_, at) => [`part/${at}`, [1]] as const);
  lab.add({ name: "parts", curves: { loss: [1], "optim/norm": [1], ...Object.fromEntries(parts) } });
  await openPage(lab.server, `/w/lab/compare?runs=${lab.number("parts")}&toggled=optim,optim`);
  await chartOf("part/0");
  await expect.element(page.getByCss("section[data-tag='optim/norm']")).not.toBeInTheDocument();
});

test("what an address names and is no run is listed", async () => {
  await openPage(lab.server, `/w/lab/compare?runs=${lab.number("sweep-0")},${"n".repeat(LONG)},9-2,1-5000`);
  const pane = page.getByRole("complementary", { name: "Runs of the comparison" });
  await expect.element(pane.getByText("These name no run: nnn")).toBeVisible();
  await expect.element(pane.getByText("9-2. Numbers are meant, as in 3,7-12.")).toBeVisible();
  await expect
    .element(pane.getByText("The address names more than 2000 runs; the first 2000 are looked for."))
    .toBeVisible();
  await expect.element(pane.getByText("Not here: run")).toBeVisible();
  expect(document.documentElement.scrollWidth).toBeLessThanOrEqual(1280);
});

test("forty tags of ten thousand letters are drawn", async () => {
  const curves = Array.from({ length: 40 }, (_, at): [string, number[]] => [
    `group/${String(at).padStart(2, "0")}${"x".repeat(LONG)}`,
    [at],
  ]);
  lab.add({ name: "long", workspace: "long", curves: Object.fromEntries(curves) });
  await openPage(lab.server, `/w/long/compare?runs=${lab.number("long")}`);
  for (const number of ["00", "01", "39"]) {
    const chart = page.getByCss(`section[data-tag^='group/${number}']`);
    await expect
      .poll(() => {
        if (!chart.query()) page.getByCss("p.more").query()?.scrollIntoView();
        return chart.query();
      })
      .not.toBeNull();
    chart.element().scrollIntoView();
    await expect.element(chart.getByCss("footer")).toHaveTextContent("1 curve · 1 point");
    await expect.element(chart.getByCss("canvas").first()).toBeVisible();
  }
  // Servers and proxies take addresses of 8 kB, so a longer tag has one of its own. Charts of the page before may
  // still have sent a request with several short tags.
  const requests = lab.server.requestsTo("/api/v1/series");
  const long = requests.filter(({ query }) => query.getAll("tag").some((tag) => tag.length > LONG));
  expect(long).not.toHaveLength(0);
  for (const { query } of long) expect(query.getAll("tag")).toHaveLength(1);
});

test("a step of nine digits is shown whole", async () => {
  const run = lab.add({ name: "far", workspace: "far" });
  const steps = [123456788, 123456789, 123456790];
  lab.curves.push(curveOf(run, "", "loss", steps, steps));
  await openPage(lab.server, `/w/far/compare?runs=${run.number}`);
  await moveMouse(placeIn((await chartOf("loss")).getByCss(".plot")));
  await expect.element(page.getByCss(".tooltip")).toBeVisible();
  expect(page.getByCss(".tooltip .place").element().textContent.replace(/\D/g, "")).toBe("123456789");
});

test("a step beyond what browsers count is shown digit by digit", async () => {
  const run = lab.add({ name: "far", workspace: "far" });
  const steps = [1n, 3n, 5n].map((more) => 2n ** 53n + more);
  lab.curves.push(curveOf(run, "", "far", steps, [0, 1, 2]));
  await openPage(lab.server, `/w/far/compare?runs=${run.number}&tags=far&zoom=0~100`);
  const chart = await chartOf("far");
  // A zoom of other charts leaves it whole.
  await expect
    .element(chart.getByCss("footer"))
    .toHaveTextContent(`1 curve · 3 points · steps counted from ${steps[0]}`);
  await moveMouse(placeIn(chart.getByCss(".plot"), 0.01));
  await expect.element(page.getByCss(".tooltip")).toHaveTextContent(RegExp(`step (${steps.join("|")})\\b`));
});
