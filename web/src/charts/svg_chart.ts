// SPDX-License-Identifier: Apache-2.0
// A chart as SVG, for papers: axes, lines and legend as text and paths.
import { axisText, type XKind } from "./axis_text";
import type { Line } from "./curve";
import type { MomentMark } from "./moment_marks";
import type { Span } from "./value_range";

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [720, 380, 64, 36, 36];
const ROW = 18;

export function svgChart(
  title: string,
  lines: readonly Line[],
  ranges: { x: Span; y: Span },
  axes: { x: XKind; logX: boolean; logY: boolean },
  moments: readonly MomentMark[] = [],
): string {
  const x = placing(ranges.x, LEFT, WIDTH - 16, axes.logX);
  const y = placing(ranges.y, HEIGHT - BOTTOM, TOP, axes.logY);
  const total = HEIGHT + lines.length * ROW + 12;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${total}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="${LEFT}" y="22" font-size="15" font-weight="600">${escaped(title)}</text>`,
    `<clipPath id="inside"><rect x="${LEFT}" y="${TOP}" width="${WIDTH - 16 - LEFT}" height="${HEIGHT - BOTTOM - TOP}"/></clipPath>`,
  ];
  for (const value of ticks(ranges.x, axes.logX)) {
    const text =
      axes.x === "wall" ? new Date(value * 1000).toLocaleString() : axisText(axes.x, value, stepOf(ranges.x));
    parts.push(`<path d="M${x(value)} ${TOP}V${HEIGHT - BOTTOM}" stroke="#e9ecf0"/>`);
    parts.push(
      `<text x="${x(value)}" y="${HEIGHT - BOTTOM + 16}" text-anchor="middle" fill="#66727f">${escaped(text)}</text>`,
    );
  }
  for (const value of ticks(ranges.y, axes.logY)) {
    parts.push(`<path d="M${LEFT} ${y(value)}H${WIDTH - 16}" stroke="#e9ecf0"/>`);
    const text = axisText("step", value, axes.logY ? value : stepOf(ranges.y));
    parts.push(`<text x="${LEFT - 6}" y="${y(value) + 4}" text-anchor="end" fill="#66727f">${escaped(text)}</text>`);
  }
  parts.push(`<g clip-path="url(#inside)" fill="none">`);
  for (const line of lines) {
    if (line.band) parts.push(`<path d="${area(line, x, y, axes.logY)}" fill="${line.colour}" opacity="0.18"/>`);
    if (line.raw)
      parts.push(
        `<path d="${path(line.raw.xs, line.raw.ys, x, y, axes.logY)}" stroke="${line.colour}" opacity="0.3"/>`,
      );
    const dash = line.dash.length ? ` stroke-dasharray="${line.dash.join(" ")}"` : "";
    parts.push(
      `<path d="${path(line.xs, line.ys, x, y, axes.logY)}" stroke="${line.colour}" stroke-width="1.6"${dash}/>`,
    );
  }
  for (const moment of moments)
    parts.push(
      `<path d="M${x(moment.x)} ${TOP}V${HEIGHT - BOTTOM}" stroke="${moment.colour}" stroke-dasharray="3 3" opacity="0.6"><title>${escaped(moment.label)}</title></path>`,
    );
  parts.push("</g>");
  lines.forEach((line, at) => {
    const top = HEIGHT + at * ROW + 6;
    parts.push(`<path d="M${LEFT} ${top}h18" stroke="${line.colour}" stroke-width="3"/>`);
    parts.push(`<text x="${LEFT + 26}" y="${top + 4}">${escaped(line.label)}</text>`);
  });
  return [...parts, "</svg>"].join("\n");
}

function placing([from, to]: Span, start: number, end: number, log: boolean): (value: number) => number {
  const scaled = (value: number): number => (log ? Math.log10(value) : value);
  const [low, high] = [scaled(from), scaled(to)];
  return (value) => Number((start + ((scaled(value) - low) / (high - low || 1)) * (end - start)).toFixed(2));
}

function stepOf([from, to]: Span): number {
  const rough = (to - from) / 6;
  const size = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5, 10].find((factor) => factor * size >= rough) ?? 10) * size;
}

export function ticks(span: Span, log: boolean): number[] {
  const [from, to] = span;
  const found: number[] = [];
  if (log) {
    for (let power = Math.ceil(Math.log10(from)); power <= Math.log10(to); power++) found.push(10 ** power);
    return found;
  }
  const step = stepOf(span);
  for (let at = Math.ceil(from / step); at * step <= to && found.length < 50; at++)
    found.push(Number((at * step).toPrecision(12)));
  return found;
}

type Place = (value: number) => number;

function path(xs: Float64Array, ys: Float64Array, x: Place, y: Place, log: boolean): string {
  let out = "";
  let isDown = false;
  for (let at = 0; at < xs.length; at++) {
    const value = ys[at] as number;
    const isShown = Number.isFinite(value) && (!log || value > 0);
    if (isShown) out += `${isDown ? "L" : "M"}${x(xs[at] as number)} ${y(value)}`;
    isDown = isShown;
  }
  return out;
}

function area(line: Line, x: Place, y: Place, log: boolean): string {
  const { low, high } = line.band as { low: Float64Array; high: Float64Array };
  const shown = Array.from(line.xs.keys()).filter(
    (at) => Number.isFinite(low[at]) && (!log || (low[at] as number) > 0),
  );
  const there = shown.map((at) => `${x(line.xs[at] as number)} ${y(high[at] as number)}`);
  const back = shown.reverse().map((at) => `${x(line.xs[at] as number)} ${y(low[at] as number)}`);
  return there.length ? `M${[...there, ...back].join("L")}Z` : "";
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
