// SPDX-License-Identifier: Apache-2.0
// Marks for what a chart cannot show: triangles at its edges for what is beyond them, a cross at the bottom for the first NaN.
import type { Line } from "../lines/line";

export interface EdgeMark {
  /** Where it stands, as the frame counts. */
  x: number;
  kind: "up" | "down" | "cross";
}

interface MarkFrame {
  left: number;
  width: number;
  x: (value: number) => number;
  yRange: readonly [number, number];
}

const LEAST_GAP = 7; // pixels between two marks of one line
const KINDS = { NaN: "cross", "∞": "up", "−∞": "down" } as const;

export function edgeMarks(line: Line, frame: MarkFrame): EdgeMark[] {
  return [...notNumbers(line, frame), ...beyond(line, frame)];
}

function notNumbers(line: Line, frame: MarkFrame): EdgeMark[] {
  const found: EdgeMark[] = [];
  const last = { up: -Infinity, down: -Infinity, cross: -Infinity };
  for (const mark of line.marks) {
    const x = frame.x(mark.x);
    const kind = KINDS[mark.kind];
    if (!isInside(x, frame) || x - last[kind] < LEAST_GAP) continue;
    // Once NaN, mostly NaN to the end: the first one tells.
    last[kind] = kind === "cross" ? Infinity : x;
    found.push({ x, kind });
  }
  return found;
}

function beyond(line: Line, frame: MarkFrame): EdgeMark[] {
  const { xs, ys, band, raw } = line;
  const found = beyondOf(xs, band?.low ?? ys, band?.high ?? ys, frame);
  if (raw) found.push(...beyondOf(raw.xs, raw.ys, raw.ys, frame));
  const last = { up: -Infinity, down: -Infinity, cross: -Infinity };
  return found
    .sort((one, other) => one.x - other.x)
    .filter(({ x, kind }) => {
      if (x - last[kind] < LEAST_GAP) return false;
      last[kind] = x;
      return true;
    });
}

function beyondOf(xs: Float64Array, least: Float64Array, most: Float64Array, frame: MarkFrame): EdgeMark[] {
  const found: EdgeMark[] = [];
  const [low, high] = frame.yRange;
  for (let at = 0; at < xs.length; at++) {
    const isAbove = (most[at] as number) > high;
    const isBelow = (least[at] as number) < low;
    if (!isAbove && !isBelow) continue;
    const x = frame.x(xs[at] as number);
    if (!isInside(x, frame)) continue;
    if (isAbove) found.push({ x, kind: "up" });
    if (isBelow) found.push({ x, kind: "down" });
  }
  return found;
}

function isInside(x: number, frame: MarkFrame): boolean {
  return x >= frame.left && x <= frame.left + frame.width;
}
