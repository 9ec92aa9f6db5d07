// SPDX-License-Identifier: Apache-2.0
// A chart as a file: a picture with a legend, or the numbers of its lines.
import { csvLine } from "../../model/csv";
import { fileName, saveBlob, saveText } from "../../ui/save_file";
import type { Line, MomentMark, Span, XKind } from "../lines/line";
import { svgChart } from "./svg_chart";

const ROW = 18;

export function savePng(title: string, lines: readonly Line[], chart: HTMLCanvasElement | undefined): void {
  if (!chart) return;
  const scale = devicePixelRatio;
  const picture = document.createElement("canvas");
  const rows = lines.length;
  picture.width = chart.width;
  picture.height = chart.height + (30 + rows * ROW + 10) * scale;
  const context = picture.getContext("2d");
  if (!context) return;
  const style = getComputedStyle(document.documentElement);
  context.fillStyle = style.getPropertyValue("--ground");
  context.fillRect(0, 0, picture.width, picture.height);
  context.scale(scale, scale);
  context.fillStyle = style.getPropertyValue("--ink");
  context.font = "600 14px system-ui, sans-serif";
  context.fillText(title, 12, 20);
  context.drawImage(chart, 0, 30, chart.width / scale, chart.height / scale);
  context.font = "12px system-ui, sans-serif";
  lines.forEach((line, at) => {
    const y = 30 + chart.height / scale + ROW * (at + 0.7);
    context.fillStyle = line.colour;
    context.fillRect(14, y - 5, 16, 3);
    context.fillStyle = style.getPropertyValue("--ink");
    context.fillText(line.label, 38, y);
  });
  picture.toBlob((blob) => blob && saveBlob(fileName(title, "png"), blob), "image/png");
}

export function saveSvg(
  title: string,
  lines: readonly Line[],
  ranges: { x: Span; y: Span },
  axes: { x: XKind; logX: boolean; logY: boolean; bands: boolean },
  moments: readonly MomentMark[],
): void {
  saveText(fileName(title, "svg"), svgChart(title, lines, ranges, axes, moments), "image/svg+xml");
}

export function saveLinesAsCsv(title: string, lines: readonly Line[]): void {
  saveText(fileName(title, "csv"), linesAsCsv(title, lines), "text/csv");
}

export function linesAsCsv(title: string, lines: readonly Line[]): string {
  const rows = [csvLine(["curve", "x", title, "low", "high", "runs"])];
  for (const line of lines) {
    for (let at = 0; at < line.xs.length; at++) {
      const x = line.exact ? String(line.exact[at]) : line.xs[at];
      rows.push(csvLine([line.label, x, line.ys[at], line.band?.low[at], line.band?.high[at], line.counts?.[at]]));
    }
  }
  return [...rows, ""].join("\n");
}
