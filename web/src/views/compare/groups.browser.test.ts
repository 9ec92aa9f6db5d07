// SPDX-License-Identifier: Apache-2.0
// Runs that are drawn as one: their centre, how far they are from it, and what they have in common.
import { beforeEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { chartOf, drawnRows, footerReads, pictureOf } from "../../testing/charts";
import { moveMouse, placeIn } from "../../testing/gestures";
import { openPage } from "../../testing/open_page";
import { StubRuns } from "../../testing/stub_runs";

const GROUPED = "/w/lab/compare?group=hparams.optimizer";
const VALUES = { first: 1, second: 2, third: 6 };
let lab: StubRuns;

beforeEach(() => {
  lab = new StubRuns(
    Object.entries(VALUES).map(([name, value]) => ({
      name,
      hparams: { optimizer: "sgd" },
      tags: { kind: name === "second" ? "odd" : "even" },
      curves: { loss: [value, value], broken: [value, name === "first" ? NaN : value, value] },
    })),
  );
});

async function choose(label: string, option: string): Promise<void> {
  await page.getByRole("button", { name: "Group runs" }).click();
  await page.getByRole("dialog").getByLabelText(label).selectOptions(option);
  await userEvent.keyboard("{Escape}");
}

/** The rows of what is drawn, each once: curve, value, low, high, runs. */
async function drawn(): Promise<string[][]> {
  const rows = (await drawnRows("loss")).map((row) =>
    ["curve", "loss", "low", "high", "runs"].map((name) => row[name]),
  );
  return [...new Set(rows.map((row) => JSON.stringify(row)))].sort().map((row) => JSON.parse(row) as string[]);
}

test("the centre is the mean or the median", async () => {
  await openPage(lab.server, GROUPED);
  await footerReads("loss", "1 curve ·");
  expect(await drawn()).toEqual([["sgd (3 runs)", "3", "1", "6", "3"]]);
  await choose("Aggregate", "median");
  await expect.poll(drawn).toEqual([["sgd (3 runs)", "2", "1", "6", "3"]]);
  await moveMouse(placeIn((await chartOf("loss")).getByCss(".plot")));
  await expect.element(page.getByCss(".tooltip")).toHaveTextContent("3 runs");
});

test("the band is what was chosen", async () => {
  const [deviation, error] = [Math.sqrt(7), 4.303 * Math.sqrt(7 / 3)];
  const bands: Record<string, [number, number]> = {
    "min–max": [1, 6],
    "standard deviation": [3 - deviation, 3 + deviation],
    "95 % confidence": [3 - error, 3 + error],
  };
  await openPage(lab.server, GROUPED);
  for (const [option, [low, high]] of Object.entries(bands)) {
    await choose("Band", option);
    const close = (value: number): unknown => expect.closeTo(value, 5);
    const edges = async (): Promise<number[]> => ((await drawn())[0] ?? []).slice(2, 4).map(Number);
    await expect.poll(edges, { message: option }).toEqual([close(low), close(high)]);
    expect((await pictureOf("loss")).paths("0.18").length).toBe(1);
  }
  await choose("Band", "no band");
  await expect.poll(async () => (await pictureOf("loss")).paths("0.18")).toEqual([]);
  expect(await drawn()).toEqual([["sgd (3 runs)", "3", "", "", "3"]]);
});

test("runs with the same tag become one curve", async () => {
  await openPage(lab.server, "/w/lab/compare");
  await footerReads("loss", "3 curves");
  await choose("Group by", "kind");
  await footerReads("loss", "2 curves");
  expect((await pictureOf("loss")).names.sort()).toEqual(["even (2 runs)", "odd (1 run)"]);
  expect((await drawn()).map(([curve, value]) => [curve, value])).toEqual([
    ["even (2 runs)", "3.5"],
    ["odd (1 run)", "2"],
  ]);
});

test("NaN of one run is marked in its group", async () => {
  await openPage(lab.server, GROUPED);
  await footerReads("broken", "1 curve ·");
  expect((await pictureOf("broken")).paths("0.9").length).toBe(1);
  expect((await pictureOf("loss")).paths("0.9")).toEqual([]);
});
