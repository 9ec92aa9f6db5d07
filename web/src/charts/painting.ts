// SPDX-License-Identifier: Apache-2.0
// Draws lines into a canvas: band, raw curve, line, and marks for what a chart cannot show.
import type { Line } from "./curve";

/** Where values stand on the canvas, in its pixels. */
export interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
  x: (value: number) => number;
  y: (value: number) => number;
  yRange: readonly [number, number];
  logY: boolean;
  scale: number;
}

export function paint(context: CanvasRenderingContext2D, lines: readonly Line[], frame: Frame, bands: boolean): void {
  context.save();
  context.beginPath();
  context.rect(frame.left, frame.top, frame.width, frame.height);
  context.clip();
  context.lineJoin = "bevel"; // round ones cost a multiple, and nobody sees them
  for (const line of lines) {
    if (bands && line.band) paintBand(context, line, frame, 0.18);
    if (line.raw) paintPath(context, line.raw.xs, line.raw.ys, line, frame, 0.28, 1);
    paintPath(context, line.xs, line.ys, line, frame, 1, lines.length > 40 ? 1 : 1.5);
    paintLonely(context, line, frame);
  }
  for (const line of lines) paintMarks(context, line, frame);
  context.restore();
}

/** Over a chart that is drawn already: a veil, and on it the lines that the pointer is at. */
export function paintHighlight(
  context: CanvasRenderingContext2D,
  lines: readonly Line[],
  frame: Frame,
  key: string,
  ground: string,
): void {
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
  const { low, high } = line.band as { low: Float64Array; high: Float64Array };
  context.globalAlpha = opacity;
  context.fillStyle = line.colour;
  const { xs } = line;
  let from = 0;
  while (from < xs.length) {
    while (from < xs.length && !isDrawable(low[from] as number, frame)) from += 1;
    let to = from;
    while (to < xs.length && isDrawable(low[to] as number, frame)) to += 1;
    if (to - from > 1) {
      context.beginPath();
      for (let at = from; at < to; at++) context.lineTo(frame.x(xs[at] as number), frame.y(high[at] as number));
      for (let at = to - 1; at >= from; at--) context.lineTo(frame.x(xs[at] as number), frame.y(low[at] as number));
      context.fill();
    }
    from = to + 1;
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
  context.lineWidth = width * frame.scale;
  context.setLineDash(line.dash.map((part) => part * frame.scale));
  context.beginPath();
  let isDown = false;
  for (let at = 0; at < xs.length; at++) {
    const y = ys[at] as number;
    const x = xs[at] as number;
    if (!isDrawable(y, frame) || !Number.isFinite(x)) {
      isDown = false; // a gap: nobody knows what was between
      continue;
    }
    if (isDown) context.lineTo(frame.x(x), frame.y(y));
    else context.moveTo(frame.x(x), frame.y(y));
    isDown = true;
  }
  context.stroke();
  context.setLineDash([]);
}

/** Points without a number beside them would be lines without length. */
function paintLonely(context: CanvasRenderingContext2D, line: Line, frame: Frame): void {
  const isThere = (at: number): boolean => at >= 0 && at < line.ys.length && isDrawable(line.ys[at] as number, frame);
  context.fillStyle = line.colour;
  for (let at = 0; at < line.xs.length; at++) {
    if (!isThere(at) || isThere(at - 1) || isThere(at + 1)) continue;
    context.beginPath();
    context.arc(frame.x(line.xs[at] as number), frame.y(line.ys[at] as number), 2.5 * frame.scale, 0, 7);
    context.fill();
  }
}

const LEAST_GAP = 7; // pixels between two marks of one line

/** Triangles at the edges for what is beyond them, crosses at the bottom for NaN. */
function paintMarks(context: CanvasRenderingContext2D, line: Line, frame: Frame): void {
  context.globalAlpha = 0.9;
  context.fillStyle = line.colour;
  context.strokeStyle = line.colour;
  context.lineWidth = 1.4 * frame.scale;
  const size = 4 * frame.scale;
  const bottom = frame.top + frame.height;
  let last = { up: -Infinity, down: -Infinity, cross: -Infinity };
  const gap = LEAST_GAP * frame.scale;
  for (const mark of line.marks) {
    const x = frame.x(mark.x);
    const side = mark.kind === "NaN" ? "cross" : mark.kind === "∞" ? "up" : "down";
    if (x - last[side] < gap) continue;
    last = { ...last, [side]: x };
    if (side === "cross") cross(context, x, bottom - size * 1.6, size * 0.8);
    else triangle(context, x, side === "up" ? frame.top : bottom, side === "up" ? size : -size);
  }
  const [low, high] = frame.yRange;
  const [least, most] = line.band ? [line.band.low, line.band.high] : [line.ys, line.ys];
  for (let at = 0; at < line.xs.length; at++) {
    const x = frame.x(line.xs[at] as number);
    if (x < frame.left || x > frame.left + frame.width) continue;
    if ((most[at] as number) > high && x - last.up >= gap) {
      triangle(context, x, frame.top, size);
      last.up = x;
    }
    if ((least[at] as number) < low && x - last.down >= gap) {
      triangle(context, x, bottom, -size);
      last.down = x;
    }
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

function isDrawable(y: number, frame: Frame): boolean {
  return Number.isFinite(y) && (!frame.logY || y > 0);
}
