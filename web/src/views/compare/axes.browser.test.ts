// SPDX-License-Identifier: Apache-2.0
// What is drawn where: along which axis, smoothed before the raw curve, with bands or without.
import { beforeEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { chartOf, dragAcross, drawnRows, footerReads, pictureOf, zoomOf } from "../../testing/charts";
import { openPage, reloadPage } from "../../testing/open_page";
import { curveOf } from "../../testing/run_fixtures";
import { StubRuns } from "../../testing/stub_runs";

const POINTS = 40;
const MANY = 20_000;
const CROWD = 120;
let lab: StubRuns;

beforeEach(() => {
  lab = new StubRuns();
});

function addZigzag(): void {
  const steps = [...Array(POINTS).keys()];
  lab.add({
    name: "zigzag",
    curves: {
      loss: steps.map((step) => step % 2),
      epoch: steps.map((step) => 10 * step),
      long: Array.from({ length: 9000 }, (_, step) => step % 2),
    },
  });
}

/** A run whose values are its steps, with a metric that leads somewhere and one that goes to and fro. */
function addLong(name: string, time: (step: number) => number, along: (step: number) => number): void {
  const run = lab.add({ name });
  const steps = [...Array(MANY).keys()];
  const walls = steps.map(time);
  const values = { many: steps, along: steps.map(along), restless: steps.map((step) => step % 2) };
  for (const [tag, column] of Object.entries(values))
    lab.curves.push({ ...curveOf(run, "", tag, steps, column), walls });
}

function addTwoLong(): void {
  addLong(
    "early",
    (step) => 1000 + step,
    (step) => 10 * step,
  );
  addLong(
    "late",
    (step) => 500_000 + 2 * step,
    (step) => 10 * (MANY - step),
  );
}

function charts(tag: string, more = ""): string {
  return `/w/lab/compare?tags=^${tag}$${more}`;
}

function heights(path: string): number[] {
  return [
    ...new Set(
      path
        .slice(1)
        .split("L")
        .map((point) => Number(point.split(" ")[1])),
    ),
  ];
}

test("the raw curve stays behind the smoothed one", async () => {
  addZigzag();
  await openPage(lab.server, charts("loss"));
  const before = await pictureOf("loss");
  expect(before.paths("0.3")).toEqual([]);
  await page.getByRole("button", { name: "Smoothing" }).click();
  await page.getByRole("radio", { name: "Running average" }).click();
  await userEvent.keyboard("{Escape}");
  const after = await pictureOf("loss");
  const [[behind = ""], [smoothed = ""]] = [after.paths("0.3"), after.paths()];
  expect(behind).toBe(before.paths()[0]);
  expect(behind.split("L").length).toBe(POINTS);
  expect(heights(behind).length).toBe(2);
  // Its middle is calm, between both.
  expect(Math.min(...heights(smoothed))).toBeGreaterThan(Math.min(...heights(behind)));
  expect(Math.max(...heights(smoothed))).toBeLessThan(Math.max(...heights(behind)));
});

test("a smoothed downsampled curve has a band until bands are off", async () => {
  addZigzag();
  await openPage(lab.server, charts("long", "&smoothing=mean&amount=0.9"));
  await footerReads("long", "downsampled");
  // The page smooths what all points mean, not only those that were kept.
  expect(lab.server.requestsTo("/api/v1/charts")[0]?.query.get("means")).toBe("true");
  expect((await pictureOf("long")).paths("0.18")).toEqual([expect.stringMatching(/Z$/)]);
  await page.getByRole("button", { name: "Axes and bands" }).click();
  await page.getByRole("checkbox", { name: "Min–max band" }).click();
  await userEvent.keyboard("{Escape}");
  const without = await pictureOf("long");
  expect(without.paths("0.18")).toEqual([]);
  expect(without.paths().length).toBe(1);
});

test("the axis is the one that was chosen", async () => {
  addZigzag();
  const axes: Record<string, string[]> = {
    "": ["0", "10", "20", "30"],
    "&x=relative": ["0", "10 s", "20 s", "30 s"],
    "&x=wall": ["00:16:40", "00:16:50", "00:17:00", "00:17:10"],
    "&x=metric&xmetric=epoch": ["0", "100", "200", "300"],
    "&logx=1": ["1", "2", "5", "10", "20"],
  };
  for (const [axis, texts] of Object.entries(axes)) {
    await openPage(lab.server, charts("loss", axis));
    await footerReads("loss", `${POINTS} points`);
    expect((await pictureOf("loss")).along("middle"), axis).toEqual(texts);
  }
});

test("points stand at the values of another metric", async () => {
  addZigzag();
  await openPage(lab.server, charts("loss", "&x=metric"));
  await page.getByLabelText("Metric of the x axis").selectOptions("epoch");
  await expect.poll(async () => (await drawnRows("loss")).length).toBe(POINTS);
  const places = (await drawnRows("loss")).slice(0, 3).map((row) => [row["x"], row["loss"]]);
  expect(places).toEqual([
    ["0", "0"],
    ["10", "1"],
    ["20", "0"],
  ]);
});

async function drawnSteps(): Promise<Map<string, Set<number>>> {
  const found = new Map<string, Set<number>>();
  for (const row of await drawnRows("many")) {
    const curve = row["curve"] ?? "";
    found.set(curve, (found.get(curve) ?? new Set()).add(Number(row["many"])));
  }
  return found;
}

/** The steps of a run that are not drawn, though the zoom shows their places. */
function missingSteps(steps: ReadonlySet<number> | undefined, place: (step: number) => number, most: number): number[] {
  const [first, last] = zoomOf();
  const inside = [...Array(most).keys()].filter((step) => place(step) >= first && place(step) <= last);
  expect(inside.length).toBeGreaterThan(20);
  expect(inside.length).toBeLessThan(500);
  return inside.filter((step) => !steps?.has(step));
}

type Place = (step: number) => number;
const AXES: [string, string, Place, Place][] = [
  ["steps", "", (step) => step, (step) => step],
  ["time", "&x=relative", (step) => step, (step) => 2 * step],
  ["a metric", "&x=metric&xmetric=along", (step) => 10 * step, (step) => 10 * (MANY - step)],
];

for (const log of ["", "&logx=1"])
  test.each(AXES)(
    `a zoom along %s asks for every point${log && ", on a logarithmic axis"}`,
    async (_, axis, early, late) => {
      addTwoLong();
      await openPage(lab.server, charts("many", `${axis}${log}&columns=1`));
      await footerReads("many", "2 curves · 40,000 points, downsampled – zoom in");
      await dragAcross("many", ...((log ? [0.6, 0.62] : [0.25, 0.26]) as [number, number]));
      await footerReads("many", /\d points$/);
      // A link shows the same.
      for (const isAgain of [false, true]) {
        if (isAgain) await reloadPage(lab.server);
        await footerReads("many", /\d points$/);
        const steps = await drawnSteps();
        expect(missingSteps(steps.get("early"), early, MANY)).toEqual([]);
        expect(missingSteps(steps.get("late"), late, MANY)).toEqual([]);
      }
      expect((await pictureOf("many")).along("middle").length).toBeGreaterThan(0);
    },
  );

test("along a metric that goes to and fro, steps lead further", async () => {
  addTwoLong();
  await openPage(lab.server, charts("many", "&x=metric&xmetric=restless&zoom=0.2~1.7"));
  await footerReads("many", "downsampled – zoom in along steps");
  await expect
    .poll(() => lab.server.requestsTo("/api/v1/series").some(({ query }) => query.has("from_step")))
    .toBe(true);
});

test("keys move along a logarithmic axis", async () => {
  addTwoLong();
  const moved: Record<string, [number, number]> = {
    "{ArrowRight}": [133.35, 1333.5],
    "+": [133.35, 749.89],
    "-": [68.129, 1467.8],
  };
  for (const [key, [first, last]] of Object.entries(moved)) {
    await openPage(lab.server, charts("many", "&logx=1&zoom=100~1000"));
    ((await chartOf("many")).getByRole("application").element() as HTMLElement).focus();
    await userEvent.keyboard(key);
    await expect.poll(() => zoomOf()[0] / first, { message: key }).toBeCloseTo(1, 2);
    expect(zoomOf()[1] / last, key).toBeCloseTo(1, 2);
  }
});

test("a zoom since the start of many runs sends few requests", async () => {
  const steps = [...Array(600).keys()];
  for (let number = 0; number < CROWD; number++) {
    const run = lab.add({ name: `crowd-${number}` });
    lab.curves.push({ ...curveOf(run, "", "many", steps, steps), walls: steps.map((step) => 10_000 * number + step) });
  }
  await openPage(lab.server, `/w/lab/compare?first=${CROWD}&x=relative&tags=^many$&columns=1`);
  await footerReads("many", "120 curves · 72,000 points, downsampled");
  await dragAcross("many", 0.5, 0.55);
  await footerReads("many", /\d points$/);
  const found = await drawnSteps();
  expect(found.size).toBe(CROWD);
  for (const drawn of found.values()) expect(missingSteps(drawn, (step) => step, 600)).toEqual([]);
  const zoomed = lab.server.requestsTo("/api/v1/series").filter(({ query }) => query.has("since"));
  expect([1, 2]).toContain(zoomed.length);
  for (const { address } of zoomed) expect(address.length).toBeLessThan(8000);
});
