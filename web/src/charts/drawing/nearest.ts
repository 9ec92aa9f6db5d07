// SPDX-License-Identifier: Apache-2.0
// What is nearest to the pointer: for every line its point there, the nearest line first.
import { lowerBound } from "../lines/interpolation";
import type { Line } from "../lines/line";

export interface Near {
  line: Line;
  at: number;
  x: number;
  y: number;
  /** Pixels between the pointer and the point. */
  distance: number;
}

export interface Pointer {
  x: number;
  left: number;
  top: number;
  toLeft: (x: number) => number;
  toTop: (y: number) => number;
}

/** At most `most`; lines whose points are all far from the pointer's column are left out. */
export function nearest(lines: readonly Line[], pointer: Pointer, most: number, reach = 40): Near[] {
  const found: Near[] = [];
  for (const line of lines) {
    const at = closest(line.xs, line.ys, pointer.x);
    if (at < 0) continue;
    const [x, y] = [line.xs[at] as number, line.ys[at] as number];
    const across = Math.abs(pointer.toLeft(x) - pointer.left);
    if (across > reach && !isWithin(line.xs, pointer.x)) continue;
    const up = Number.isFinite(y) ? Math.abs(pointer.toTop(y) - pointer.top) : 1e6;
    found.push({ line, at, x, y, distance: Math.hypot(across * 0.3, up) });
  }
  return found.sort((one, other) => one.distance - other.distance).slice(0, most);
}

/** The place of the point nearest to `x`, a number if there is one beside it. */
function closest(xs: Float64Array, ys: Float64Array, x: number): number {
  if (!xs.length) return -1;
  const after = Math.min(xs.length - 1, lowerBound(xs, x));
  const before = Math.max(0, after - 1);
  const [nearer, other] =
    Math.abs((xs[before] as number) - x) <= Math.abs((xs[after] as number) - x) ? [before, after] : [after, before];
  return Number.isFinite(ys[nearer]) || !Number.isFinite(ys[other]) ? nearer : other;
}

function isWithin(xs: Float64Array, x: number): boolean {
  return x >= (xs[0] as number) && x <= (xs.at(-1) as number);
}
