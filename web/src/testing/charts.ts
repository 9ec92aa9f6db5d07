// SPDX-License-Identifier: Apache-2.0
// Charts, as component tests look at them. Canvases cannot be read: what is drawn is in the files that a chart saves.
import { expect } from "vitest";
import { page, type Locator } from "vitest/browser";
import { downloadedText } from "./gestures";

/** The first chart of a tag, drawn. */
export async function chartOf(tag: string): Promise<Locator> {
  const chart = page.getByCss(`section[data-tag='${tag}']`).first();
  await expect.element(chart.getByCss("canvas").first()).toBeVisible();
  return chart;
}

/** The points that are drawn: curve, x, the value by the name of the tag, low, high, runs. */
export async function drawnRows(tag: string): Promise<Record<string, string>[]> {
  const text = await savedFile(tag, "CSV of what is drawn");
  const [head = [], ...rows] = text.trimEnd().split(/\r?\n/).map(csvCells);
  return rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at] ?? ""])));
}

/** A chart as a file. */
export async function savedFile(tag: string, kind: "SVG" | "CSV of what is drawn"): Promise<string> {
  const chart = await chartOf(tag);
  await chart.hover();
  return downloadedText(async () => {
    await chart.getByRole("button", { name: "Files of this chart" }).click();
    await page.getByText(kind, { exact: true }).click();
  });
}

function csvCells(line: string): string[] {
  return [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)]
    .slice(0, -1)
    .map(([, cell = ""]) => cell.replace(/^"|"$/g, "").replaceAll('""', '"'));
}
