// SPDX-License-Identifier: Apache-2.0
// Draws a chart on a canvas: axes, bands, raw curves, lines, and marks for what does not fit.
import { FAINT, type Line } from "../lines/line";
import { type ChartFrame, type Frame, TICK } from "./chart_frame";
import { edgeMarks } from "./edge_marks";
import { bandStretches, isDrawable, lonelyPoints } from "./stretches";
import type { ThemeColours } from "./theme_colours";

export const FONT = '11px system-ui, "Noto Sans", sans-serif';
const LINE_HEIGHT = 13; // pixels

/** Grid, ticks and their labels. */
export function paintAxes(context: CanvasRenderingContext2D, frame: ChartFrame, colours: ThemeColours): void {
  const { left, top, width, height } = frame;
  const bottom = top + height;
  const sharp = (pixel: number): number => Math.round(pixel) + 0.5;
  context.beginPath();
  for (const { value } of frame.xTicks) {
    context.moveTo(sharp(frame.x(value)), top);
    context.lineTo(sharp(frame.x(value)), bottom + TICK);
  }
  for (const { value } of frame.yTicks) {
    context.moveTo(left - TICK, sharp(frame.y(value)));
    context.lineTo(left + width, sharp(frame.y(value)));
  }
  context.strokeStyle = colours.grid;
  context.lineWidth = 1;
  context.stroke();
  context.fillStyle = colours.ink;
  context.font = FONT;
  [context.textAlign, context.textBaseline] = ["center", "top"];
  for (const { value, text } of frame.xTicks)
    for (const [row, part] of text.split("\n").entries())
      context.fillText(part, frame.x(value), bottom + 2 * TICK + row * LINE_HEIGHT);
  [context.textAlign, context.textBaseline] = ["right", "middle"];
  for (const { value, text } of frame.yTicks) context.fillText(text, left - 2 * TICK, frame.y(value));
}

export function paint(context: CanvasRenderingContext2D, lines: readonly Line[], frame: Frame, bands: boolean): void {
  context.save();
  context.beginPath();
  context.rect(frame.left, frame.top, frame.width, frame.height);
  context.clip();
  context.lineJoin = "bevel"; // round joins are several times slower and look the same
  for (const line of lines) {
    if (bands && line.band) paintBand(context, line, frame, 0.18);
    if (line.raw) paintPath(context, line.raw.xs, line.raw.ys, line, frame, 0.28, 1);
    paintPath(context, line.xs, line.ys, line, frame, line.isFaint ? FAINT : 1, lines.length > 40 ? 1 : 1.5);
    paintLonely(context, line, frame);
  }
  context.restore();
  // Not clipped, or a mark at the first step would lose its left half.
  context.save();
  for (const line of lines) paintMarks(context, line, frame);
  context.restore();
}

/** Above the chart: a veil, and on it the lines under the pointer. */
export function paintHighlight(
  context: CanvasRenderingContext2D,
  lines: readonly Line[],
  frame: Frame,
  key: string,
  ground: string,
): void {
  context.globalAlpha = 1;
  context.clearRect(frame.left, frame.top, frame.width, frame.height);
  const hit = key === "" ? [] : lines.filter((line) => line.key === key || line.uid === key);
  if (!hit.length || hit.length === lines.length) return;
  context.globalAlpha = 0.65;
  context.fillStyle = ground;
  context.fillRect(frame.left, frame.top, frame.width, frame.height);
  context.lineJoin = "bevel";
  for (const line of hit) {
    if (line.band) paintBand(context, line, frame, 0.18);
    paintPath(context, line.xs, line.ys, line, frame, 1, 2.4);
    paintLonely(context, line, frame);
  }
}

function paintBand(context: CanvasRenderingContext2D, line: Line, frame: Frame, opacity: number): void {
  const { low, high, drawn } = bandStretches(line, frame);
  context.globalAlpha = opacity;
  context.fillStyle = line.colour;
  const { xs } = line;
  for (const [from, to] of drawn) {
    context.beginPath();
    for (let at = from; at < to; at++) context.lineTo(frame.x(xs[at] as number), frame.y(high[at] as number));
    for (let at = to - 1; at >= from; at--) context.lineTo(frame.x(xs[at] as number), frame.y(low[at] as number));
    context.fill();
  }
}

function paintPath(
  context: CanvasRenderingContext2D,
  xs: Float64Array,
  ys: Float64Array,
  line: Line,
  frame: Frame,
  opacity: number,
  width: number,
): void {
  context.globalAlpha = opacity;
  context.strokeStyle = line.colour;
  context.lineWidth = width;
  context.setLineDash([...line.dash]);
  context.beginPath();
  let isDown = false;
  for (let at = 0; at < xs.length; at++) {
    const y = ys[at] as number;
    const x = xs[at] as number;
    if (!isDrawable(y, frame) || !Number.isFinite(x)) {
      isDown = false; // a gap: the values in between are unknown
      continue;
    }
    if (isDown) context.lineTo(frame.x(x), frame.y(y));
    else context.moveTo(frame.x(x), frame.y(y));
    isDown = true;
  }
  context.stroke();
  context.setLineDash([]);
}

function paintLonely(context: CanvasRenderingContext2D, line: Line, frame: Frame): void {
  context.fillStyle = line.colour;
  for (const at of lonelyPoints(line, frame)) {
    context.beginPath();
    context.arc(frame.x(line.xs[at] as number), frame.y(line.ys[at] as number), 2.5, 0, 7);
    context.fill();
  }
}

function paintMarks(context: CanvasRenderingContext2D, line: Line, frame: Frame): void {
  context.globalAlpha = 0.9;
  context.fillStyle = line.colour;
  context.strokeStyle = line.colour;
  context.lineWidth = 1.4;
  const size = 4;
  const bottom = frame.top + frame.height;
  for (const { x, kind } of edgeMarks(line, frame)) {
    if (kind === "cross") cross(context, x, bottom - size * 1.6, size * 0.8);
    else triangle(context, x, kind === "up" ? frame.top : bottom, kind === "up" ? size : -size);
  }
}

function triangle(context: CanvasRenderingContext2D, x: number, tip: number, size: number): void {
  context.beginPath();
  context.moveTo(x, tip);
  context.lineTo(x - size, tip + size * 1.5);
  context.lineTo(x + size, tip + size * 1.5);
  context.fill();
}

function cross(context: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  context.beginPath();
  context.moveTo(x - size, y - size);
  context.lineTo(x + size, y + size);
  context.moveTo(x + size, y - size);
  context.lineTo(x - size, y + size);
  context.stroke();
}
