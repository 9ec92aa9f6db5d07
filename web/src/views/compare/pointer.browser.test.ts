// SPDX-License-Identifier: Apache-2.0
// Charts under pointer and keys: moved along their axis, pointed at together, highlighted from the list.
import { beforeEach, expect, test } from "vitest";
import { commands, page, userEvent, type Locator } from "vitest/browser";
import { chartOf, drawnRows } from "../../testing/charts";
import { moveMouse, placeIn, tap, useTouch } from "../../testing/gestures";
import { openPage, queryOf } from "../../testing/open_page";
import { StubRuns } from "../../testing/stub_runs";

const POINTS = 9000;
let lab: StubRuns;

beforeEach(() => {
  lab = new StubRuns(
    ["low", "high"].map((name, value) => ({
      name,
      curves: { long: Array<number>(POINTS).fill(value), also: Array<number>(POINTS).fill(value + 0.5) },
    })),
  );
});

async function drawnSteps(): Promise<number[]> {
  const rows = await drawnRows("long");
  return [...new Set(rows.map((row) => Number(row["x"])))].sort((one, other) => one - other);
}

function plot(chart: Locator): Locator {
  return chart.getByCss(".plot");
}

const MOVES: Record<string, (chart: Locator) => Promise<void>> = {
  "an arrow": async (chart) => {
    (chart.getByRole("application").element() as HTMLElement).focus();
    await userEvent.keyboard("{ArrowRight}");
  },
  "the wheel": async (chart) => {
    await moveMouse(placeIn(plot(chart)));
    await userEvent.keyboard("{Control>}");
    await commands.mouseWheel(100);
    await userEvent.keyboard("{/Control}");
  },
};

test.each(Object.keys(MOVES))("%s moves along the axis, and the points there come", async (name) => {
  await openPage(lab.server, "/w/lab/compare?tags=long&zoom=1000~1200");
  const chart = await chartOf("long");
  await expect.poll(async () => (await drawnSteps()).filter((step) => step >= 1000 && step <= 1200).length).toBe(201);
  expect(Math.max(...(await drawnSteps()))).toBeLessThan(1210);
  const before = lab.server.requestsTo("/api/v1/series").length;
  await MOVES[name]?.(chart);
  await expect.poll(() => lab.server.requestsTo("/api/v1/series").length).toBeGreaterThan(before);
  // Every point of the part that is seen now, also beyond what was there before.
  await expect.poll(async () => Math.max(...(await drawnSteps()))).toBeGreaterThan(1215);
  const steps = await drawnSteps();
  expect(steps).toEqual(steps.map((_, at) => (steps[0] as number) + at));
});

/** Where the line under the pointer stands in a chart, as a share of its width; below 0 where there is none. */
function cursor(chart: Locator): number {
  const line = chart.getByCss(".cursor").query();
  if (!line) return -1;
  const [at, box] = [line.getBoundingClientRect(), plot(chart).element().getBoundingClientRect()];
  return (at.left - box.left) / box.width;
}

test("the pointer in one chart stands at the same step of others", async () => {
  await openPage(lab.server, "/w/lab/compare");
  const [long, also] = [await chartOf("long"), await chartOf("also")];
  expect(cursor(also)).toBeLessThan(0);
  for (const share of [0.25, 0.75]) {
    await moveMouse(placeIn(plot(long), share));
    await expect.poll(() => cursor(also)).toBeCloseTo(share, 1);
  }
  expect(page.getByCss(".tooltip").elements().length).toBe(1);
  await moveMouse({ x: 5, y: 5 });
  await expect.poll(() => cursor(also)).toBeLessThan(0);
});

/** How many pixels are painted above the curves of a chart. */
function painted(chart: Locator): number {
  const all = plot(chart).getByCss("canvas").elements() as HTMLCanvasElement[];
  const lenses = all.filter((lens) => lens.width > 0);
  const data = lenses.map((lens) => lens.getContext("2d")?.getImageData(0, 0, lens.width, lens.height).data ?? []);
  return data.reduce((sum, pixels) => sum + [...pixels].filter((value, at) => at % 4 === 3 && value > 0).length, 0);
}

test("a run of the list is highlighted in every chart", async () => {
  await openPage(lab.server, "/w/lab/compare");
  const charts = [await chartOf("long"), await chartOf("also")];
  for (const chart of charts) expect(painted(chart)).toBe(0);
  await page.getByCss("aside li").filter({ hasText: "high" }).hover();
  await expect.element(page.getByCss("aside li.hovered")).toHaveTextContent("high");
  for (const chart of charts) await expect.poll(() => painted(chart)).toBeGreaterThan(0);
  await moveMouse({ x: 700, y: 5 });
  await expect.element(page.getByCss("aside li.hovered")).not.toBeInTheDocument();
  for (const chart of charts) await expect.poll(() => painted(chart)).toBe(0);
});

test("a chart leaves the browser its own keys", async () => {
  await openPage(lab.server, "/w/lab/compare?tags=long&zoom=1000~1200");
  const image = (await chartOf("long")).getByRole("application").element();
  const keys: KeyboardEventInit[] = [
    { key: "0", ctrlKey: true },
    { key: "+", ctrlKey: true },
    { key: "-", metaKey: true },
    { key: "ArrowLeft", altKey: true },
  ];
  for (const key of keys) {
    const isLeft = image.dispatchEvent(new KeyboardEvent("keydown", { ...key, bubbles: true, cancelable: true }));
    expect(isLeft, JSON.stringify(key)).toBe(true);
  }
  expect(queryOf()["zoom"]).toBe("1000~1200");
});

test("a finger reaches every point of a large chart", async () => {
  const endTouch = await useTouch();
  try {
    await page.viewport(390, 800);
    await openPage(lab.server, "/w/lab/compare?tags=long&large=long");
    const large = page.getByRole("dialog");
    const footer = large.getByCss("footer");
    await expect.element(footer).toHaveTextContent("downsampled");
    await expect.element(large.getByRole("button", { name: "The whole axis" })).toBeDisabled();
    for (let times = 0; times < 8; times++) await tap(large.getByRole("button", { name: "Zoom in" })); // 9000 * 0.75 ** 8 < 1000
    await expect.element(footer).toHaveTextContent(/\d points$/);
    const start = () => Number(queryOf()["zoom"]?.split("~")[0]);
    const middle = start();
    await tap(large.getByRole("button", { name: "Move right" }));
    await expect.poll(start).toBeGreaterThan(middle);
    await tap(large.getByRole("button", { name: "The whole axis" }));
    await expect.element(footer).toHaveTextContent("downsampled");
    expect(document.documentElement.scrollWidth).toBeLessThanOrEqual(390);
  } finally {
    await endTouch();
  }
});
