// SPDX-License-Identifier: Apache-2.0
// A chart as SVG, for papers: axes, lines and legend as text and paths.
import { FAINT, type Line, type MomentMark, type Span, type XKind } from "../lines/line";
import { axisScale, axisTicks } from "./axis";
import { type EdgeMark, edgeMarks } from "./edge_marks";
import { type Axes, bandStretches, isDrawable, lonelyPoints } from "./stretches";

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [720, 380, 64, 36, 36];
const ROW = 18;
const TICKS = 6;

export function svgChart(
  title: string,
  lines: readonly Line[],
  ranges: { x: Span; y: Span },
  axes: { x: XKind; logX: boolean; logY: boolean; bands: boolean },
  moments: readonly MomentMark[] = [],
): string {
  const xAxis = { kind: axes.x, span: ranges.x, isLog: axes.logX };
  const yAxis = { kind: "metric" as const, span: ranges.y, isLog: axes.logY };
  const [width, height] = [WIDTH - 16 - LEFT, HEIGHT - BOTTOM - TOP];
  const x = rounded(axisScale(xAxis, LEFT, width));
  const y = rounded(axisScale(yAxis, TOP + height, -height));
  const total = HEIGHT + lines.length * ROW + 12;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${total}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="${LEFT}" y="22" font-size="15" font-weight="600">${escaped(title)}</text>`,
    `<clipPath id="inside"><rect x="${LEFT}" y="${TOP}" width="${width}" height="${height}"/></clipPath>`,
  ];
  for (const { value, text } of axisTicks(xAxis, TICKS)) {
    const left = x(value);
    const [first = "", ...below] = text.split("\n").map(escaped);
    const lower = below.map((part) => `<tspan x="${left}" dy="14">${part}</tspan>`).join("");
    parts.push(`<path d="M${left} ${TOP}V${HEIGHT - BOTTOM}" stroke="#e9ecf0"/>`);
    parts.push(
      `<text x="${left}" y="${HEIGHT - BOTTOM + 16}" text-anchor="middle" fill="#66727f">${first}${lower}</text>`,
    );
  }
  for (const { value, text } of axisTicks(yAxis, TICKS)) {
    const top = y(value);
    parts.push(`<path d="M${LEFT} ${top}H${WIDTH - 16}" stroke="#e9ecf0"/>`);
    parts.push(`<text x="${LEFT - 6}" y="${top + 4}" text-anchor="end" fill="#66727f">${escaped(text)}</text>`);
  }
  const frame = { left: LEFT, width, x, y, yRange: ranges.y, logY: axes.logY };
  parts.push(`<g clip-path="url(#inside)" fill="none">`);
  for (const line of lines) {
    if (line.band && axes.bands) parts.push(`<path d="${area(line, frame)}" fill="${line.colour}" opacity="0.18"/>`);
    if (line.raw)
      parts.push(`<path d="${path(line.raw.xs, line.raw.ys, frame)}" stroke="${line.colour}" opacity="0.3"/>`);
    const faint = line.isFaint ? ` opacity="${FAINT}"` : "";
    const dash = line.dash.length ? ` stroke-dasharray="${line.dash.join(" ")}"` : "";
    parts.push(
      `<path d="${path(line.xs, line.ys, frame)}" stroke="${line.colour}" stroke-width="1.6"${dash}${faint}/>`,
    );
    for (const at of lonelyPoints(line, frame)) {
      const [left, top] = [x(line.xs[at] as number), y(line.ys[at] as number)];
      parts.push(`<circle cx="${left}" cy="${top}" r="2.5" fill="${line.colour}"/>`);
    }
  }
  for (const moment of moments)
    parts.push(
      `<path d="M${x(moment.x)} ${TOP}V${HEIGHT - BOTTOM}" stroke="${moment.colour}" stroke-dasharray="3 3" opacity="0.6"><title>${escaped(moment.label)}</title></path>`,
    );
  parts.push("</g>");
  // Beyond the clip path: a mark at the first step has two halves.
  const marks = lines.flatMap((line) => edgeMarks(line, frame).map((mark) => drawnMark(mark, line.colour)));
  parts.push("<g>", ...marks, "</g>");
  lines.forEach((line, at) => {
    const top = HEIGHT + at * ROW + 6;
    parts.push(`<path d="M${LEFT} ${top}h18" stroke="${line.colour}" stroke-width="3"/>`);
    parts.push(`<text x="${LEFT + 26}" y="${top + 4}">${escaped(line.label)}</text>`);
  });
  return [...parts, "</svg>"].join("\n");
}

function rounded(scale: (value: number) => number): (value: number) => number {
  return (value) => Number(scale(value).toFixed(2));
}

const MARK = 4;

function drawnMark({ x, kind }: EdgeMark, colour: string): string {
  const bottom = HEIGHT - BOTTOM;
  if (kind === "cross") {
    const [arm, y] = [MARK * 0.8, bottom - MARK * 1.6];
    const d = `M${x} ${y}m${-arm} ${-arm}l${2 * arm} ${2 * arm}m0 ${-2 * arm}l${-2 * arm} ${2 * arm}`;
    return `<path d="${d}" fill="none" stroke="${colour}" stroke-width="1.4" opacity="0.9"><title>NaN</title></path>`;
  }
  const [tip, down, word] = kind === "up" ? [TOP, MARK * 1.5, "above"] : [bottom, -MARK * 1.5, "below"];
  const d = `M${x} ${tip}l${-MARK} ${down}h${2 * MARK}Z`;
  return `<path d="${d}" fill="${colour}" opacity="0.9"><title>${word}</title></path>`;
}

interface Frame extends Axes {
  y: (value: number) => number;
}

function path(xs: Float64Array, ys: Float64Array, frame: Frame): string {
  let out = "";
  let isDown = false;
  for (let at = 0; at < xs.length; at++) {
    const value = ys[at] as number;
    const left = frame.x(xs[at] as number);
    const isShown = isDrawable(value, frame) && Number.isFinite(left);
    if (isShown) out += `${isDown ? "L" : "M"}${left} ${frame.y(value)}`;
    isDown = isShown;
  }
  return out;
}

function area(line: Line, frame: Frame): string {
  const { low, high, drawn } = bandStretches(line, frame);
  const placed = (at: number, ys: Float64Array): string =>
    `${frame.x(line.xs[at] as number)} ${frame.y(ys[at] as number)}`;
  return drawn
    .map(([from, to]) => {
      const places = Array.from({ length: to - from }, (_, at) => from + at);
      const there = places.map((at) => placed(at, high));
      const back = places.reverse().map((at) => placed(at, low));
      return `M${[...there, ...back].join("L")}Z`;
    })
    .join("");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
