// SPDX-License-Identifier: Apache-2.0
// Charts of a comparison: in sections, zoomed into, derived, saved, with axes of any kind; and what stands in the address.
import { beforeEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { chartOf, dragAcross, footerReads, pictureOf, savedFile, zoomOf } from "../../testing/charts";
import { moveMouse, placeIn } from "../../testing/gestures";
import { openPage, queryOf, reloadPage } from "../../testing/open_page";
import { sweepRuns } from "../../testing/run_fixtures";
import { StubRuns } from "../../testing/stub_runs";

const POINTS = 20_000;
let lab: StubRuns;

beforeEach(() => {
  lab = new StubRuns(sweepRuns(2, 20));
});

/** More charts than are shown without sections. */
const MANY_TAGS = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`part/${at}`, [1]]));

function compare(...names: string[]): string {
  return `/w/lab/compare?runs=${names.map((name) => lab.number(name)).join()}`;
}

function button(name: string) {
  return page.getByRole("button", { name });
}

test("all scalars are charts in sections and a zoom asks for every point", async () => {
  lab.add({
    name: "long",
    curves: { "train:loss": Array<number>(POINTS).fill(1), "test:loss": [1, 2], "optim/norm": [1], ...MANY_TAGS },
  });
  await openPage(lab.server, compare("long"));
  await footerReads("loss", "2 curves · 20,002 points, downsampled");
  await chartOf("optim/norm");
  await dragAcross("loss", 0.5, 0.52);
  await expect
    .poll(() => lab.server.requestsTo("/api/v1/series").some(({ query }) => query.has("from_step")))
    .toBe(true);
  const [first, last] = zoomOf();
  expect(first).toBeGreaterThan(POINTS * 0.45);
  expect(last).toBeLessThan(POINTS * 0.55);
  // So few steps are drawn point by point.
  await footerReads("loss", /\d points$/);
  await reloadPage(lab.server);
  await footerReads("loss", /\d points$/);
  await userEvent.dblClick((await chartOf("loss")).getByCss(".plot"));
  await footerReads("loss", "downsampled");
  await button("optim 1").click();
  await expect.element(page.getByCss("section[data-tag='optim/norm']")).not.toBeInTheDocument();
});

test("the pointer shows values and marks the run in the list", async () => {
  await openPage(lab.server, `${compare("sweep-0", "sweep-1")}&tags=optim`);
  const chart = await chartOf("optim/norm");
  await moveMouse(placeIn(chart.getByCss(".plot")));
  const tooltip = page.getByCss(".tooltip");
  await expect.element(tooltip).toHaveTextContent("step 1");
  await expect.element(tooltip).toHaveTextContent("sweep-0 · train");
  await expect.element(page.getByCss("aside li.hovered")).toBeVisible();
  await page.getByCss("aside li").filter({ hasText: "sweep-1" }).hover();
  await expect.element(tooltip).not.toBeInTheDocument();
});

test("smoothing, axes and tags stand in the address and come back", async () => {
  await openPage(lab.server, compare("sweep-0", "sweep-1"));
  await chartOf("loss");
  await page.getByLabelText("Filter metrics").fill("^lo(");
  await expect.element(page.getByText("taken as text")).toBeVisible();
  await page.getByLabelText("Filter metrics").fill("^loss$");
  await expect.element(page.getByText("1 of 2", { exact: true })).toBeVisible();
  await button("Smoothing").click();
  await page.getByRole("radio", { name: "Gaussian" }).click();
  await userEvent.keyboard("{Escape}");
  await page.getByLabelText("X axis").selectOptions("relative");
  await button("Axes and bands").click();
  await page.getByRole("checkbox", { name: "Ignore outliers" }).click();
  await expect.poll(queryOf).toMatchObject({ smoothing: "gaussian", x: "relative", outliers: "1", tags: "^loss$" });
  await reloadPage(lab.server);
  await chartOf("loss");
  await expect.element(page.getByLabelText("X axis")).toHaveValue("relative");
  expect(page.getByCss("section[data-tag]").elements().length).toBe(1);
  for (const axis of ["wall", "metric"]) await page.getByLabelText("X axis").selectOptions(axis);
  await page.getByLabelText("Metric of the x axis").selectOptions("optim/norm");
  await chartOf("loss");
});

test("a metric is derived from others and pinned", async () => {
  await openPage(lab.server, compare("sweep-0", "sweep-1"));
  const loss = await chartOf("loss");
  await button("Derived").click();
  await userEvent.keyboard("test/loss - nonsense");
  await expect.element(page.getByText("there is no metric 'nonsense'")).toBeVisible();
  await page.getByLabelText("Derived metric").fill("test/loss - train/loss");
  await userEvent.keyboard("{Enter}");
  await footerReads("test/loss - train/loss", "2 curves");
  await loss.hover();
  await loss.getByRole("button", { name: "Pin" }).click();
  await reloadPage(lab.server);
  await footerReads("test/loss - train/loss", "2 curves");
  await expect.poll(() => page.getByCss("section[data-tag='loss']").elements().length).toBe(2);
});

test("a chart is saved as a picture and as numbers", async () => {
  await openPage(lab.server, `${compare("sweep-0", "sweep-1")}&tags=optim`);
  expect(await savedFile("optim/norm", "PNG")).toMatch(/^.PNG/);
  expect(await savedFile("optim/norm", "SVG")).toMatch(/^<svg/);
  const csv = await savedFile("optim/norm", "CSV of what is drawn");
  expect(csv).toMatch(/^curve,x,/);
  for (const name of ["sweep-0", "sweep-1"]) expect(csv).toContain(name);
  await button("Download chart").click();
  const every = page.getByRole("link", { name: "CSV of every point" });
  await expect.element(every).toBeVisible();
  const sizes = [button("PNG"), button("SVG"), button("CSV of what is drawn"), every].map(
    (item) => getComputedStyle(item.element()).fontSize,
  );
  expect(new Set(sizes).size).toBe(1);
  const { pathname, searchParams } = new URL((every.element() as HTMLAnchorElement).href);
  expect(pathname).toBe("/api/v1/series");
  expect(Object.fromEntries(searchParams)).toMatchObject({ format: "csv", points: "0", tag: "optim/norm" });
  expect(searchParams.getAll("run").length).toBe(2);
});

test("the status shows how far reading has come", async () => {
  let read = 1;
  const newest = Date.now() / 1000 - 90;
  lab.server.on("get", "/api/v1/charts", () => Promise.reject(new TypeError("Failed to fetch")));
  lab.server.on("get", "/api/v1/tags", async (_, next) => {
    const answer = await next();
    return answer instanceof Response ? answer : { ...answer, read, newest };
  });
  await openPage(lab.server, compare("sweep-0", "sweep-1"));
  const status = page.getByRole("status");
  await expect.element(status.filter({ hasText: "1 of 2 runs read" })).toBeVisible();
  await chartOf("loss");
  read = 2;
  await expect.element(status.filter({ hasText: /newest point\s+.* ago/ })).toBeVisible();
});

/** The numbers at the left of a chart. */
async function axisValues(tag: string): Promise<number[]> {
  const scale: Record<string, number> = { k: 1e3, M: 1e6, G: 1e9, B: 1e9 };
  const texts = (await pictureOf(tag)).along("end");
  return texts.map((text) => Number(text.replace(/[kMGB]$/, "").replace(",", "")) * (scale[text.at(-1) ?? ""] ?? 1));
}

test("axes are logarithmic and outliers are ignored on request", async () => {
  const values = [...Array.from({ length: 120 }, (_, at) => 10 ** (at % 3)), 1e9];
  lab.add({ name: "wild", curves: { wild: values } });
  const toggle = async (name: string): Promise<void> => {
    await button("Axes and bands").click();
    await page.getByRole("checkbox", { name }).click();
    await userEvent.keyboard("{Escape}");
  };
  await openPage(lab.server, compare("wild"));
  await footerReads("wild", "121 points");
  expect(Math.max(...(await axisValues("wild")))).toBeGreaterThanOrEqual(5e8);
  await toggle("Log y-axis");
  expect(await axisValues("wild")).toEqual(expect.arrayContaining([1, 100, 1e6, 1e8]));
  await toggle("Log y-axis");
  await toggle("Ignore outliers");
  expect(Math.max(...(await axisValues("wild")))).toBeLessThanOrEqual(1000);
});

test("twenty thousand tags are found and not all drawn", async () => {
  const tags = Array.from({ length: 20_000 }, (_, at): [string, number[]] => [`group${at % 200}/tag${at}`, [at]]);
  lab.add({ name: "broad", curves: Object.fromEntries(tags) });
  await openPage(lab.server, compare("broad"));
  await footerReads("group0/tag0", "1 curve · 1 point");
  expect(page.getByCss("section[data-tag]").elements().length).toBeLessThan(200);
  await page.getByLabelText("Filter metrics").fill("tag19999$");
  await footerReads("group199/tag19999", "1 curve");
  await expect.poll(() => page.getByCss("section[data-tag]").elements().length).toBe(1);
});

test("a large chart shows which line is of which logdir", async () => {
  await openPage(lab.server, `${compare("sweep-0")}&tags=loss&large=loss`);
  const lines = page.getByRole("dialog").getByRole("listitem");
  const drawn = (logdir: string) => lines.filter({ hasText: logdir }).getByCss("path").first();
  for (const logdir of ["train", "test"]) await expect.element(drawn(logdir)).toBeInTheDocument();
  const attribute = (logdir: string, name: string) => drawn(logdir).element().getAttribute(name);
  expect(attribute("train", "stroke-dasharray")).not.toBe(attribute("test", "stroke-dasharray"));
  expect(attribute("train", "stroke")).toBe(attribute("test", "stroke"));
});
