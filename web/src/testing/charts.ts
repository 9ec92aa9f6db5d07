// SPDX-License-Identifier: Apache-2.0
// Charts, as component tests look at them. Canvases cannot be read: what is drawn is in the files that a chart saves.
import { expect } from "vitest";
import { page, type Locator } from "vitest/browser";
import { downloadedText, drag, placeIn } from "./gestures";
import { queryOf } from "./open_page";

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

/** A chart as SVG. */
export class ChartPicture {
  private readonly root: Document;

  constructor(text: string) {
    this.root = new DOMParser().parseFromString(text, "image/svg+xml");
  }

  /** The texts along an axis: `middle` below the chart, `end` at its left. */
  along(anchor: "middle" | "end"): string[] {
    return this.texts(`text[text-anchor=${anchor}]`);
  }

  /** The names of the curves, below the chart. */
  get names(): string[] {
    return this.texts("svg > text:not([text-anchor])").slice(1);
  }

  /** Where curves go: those without opacity, raw ones (0.3), areas (0.18), or marks (0.9). */
  paths(opacity?: "0.3" | "0.18" | "0.9"): string[] {
    const drawn = [...this.root.querySelectorAll("svg > g path")];
    return drawn
      .filter((path) => path.getAttribute("opacity") === (opacity ?? null))
      .map((path) => path.getAttribute("d") ?? "");
  }

  private texts(selector: string): string[] {
    // Only the first line: dates stand below times.
    return [...this.root.querySelectorAll(selector)].map((text) => text.firstChild?.textContent ?? "");
  }
}

export async function pictureOf(tag: string): Promise<ChartPicture> {
  return new ChartPicture(await savedFile(tag, "SVG"));
}

/** Wait for what stands below a chart. */
export async function footerReads(tag: string, text: string | RegExp): Promise<void> {
  const chart = await chartOf(tag);
  await expect.element(chart.getByCss("footer")).toHaveTextContent(text);
}

/** Drag from one share of the width of a chart to another. */
export async function dragAcross(tag: string, start: number, end: number): Promise<void> {
  const plot = (await chartOf(tag)).getByCss(".plot");
  await drag(placeIn(plot, start), placeIn(plot, end));
}

/** The part of the axis that the address names. */
export function zoomOf(): [number, number] {
  const [first, last] = (queryOf()["zoom"] ?? "").split("~").map(Number);
  return [first ?? NaN, last ?? NaN];
}

/** A chart as a file. */
export async function savedFile(tag: string, kind: "PNG" | "SVG" | "CSV of what is drawn"): Promise<string> {
  const chart = await chartOf(tag);
  await chart.hover();
  return downloadedText(async () => {
    await chart.getByRole("button", { name: "Download chart" }).click();
    await page.getByText(kind, { exact: true }).click();
  });
}

function csvCells(line: string): string[] {
  return [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)]
    .slice(0, -1)
    .map(([, cell = ""]) => cell.replace(/^"|"$/g, "").replaceAll('""', '"'));
}
