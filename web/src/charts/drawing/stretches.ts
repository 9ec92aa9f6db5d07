// SPDX-License-Identifier: Apache-2.0
// Which points of a line can be drawn, as stretches without a gap: nobody knows what was between them.
import type { Line } from "../lines/line";

export interface Axes {
  x: (value: number) => number;
  yRange: readonly [number, number];
  logY: boolean;
}

/** From a point to behind another one. */
type Stretch = readonly [number, number];

/** A logarithmic axis has no place for zero, and less. */
export function isDrawable(y: number, { logY }: Pick<Axes, "logY">): boolean {
  return Number.isFinite(y) && (!logY || y > 0);
}

/** Points without a number beside them, which would be lines without length. */
export function lonelyPoints({ xs, ys }: Line, axes: Axes): number[] {
  const isThere = (at: number): boolean =>
    isDrawable(ys[at] as number, axes) && Number.isFinite(axes.x(xs[at] as number));
  return stretches(xs.length, isThere).flatMap(([from, to]) => (to - from === 1 ? [from] : []));
}

/** Of a band, with its lower edge as it is drawn: to the bottom where a logarithmic axis has no place for it. */
export function bandStretches(line: Line, axes: Axes): { low: Float64Array; high: Float64Array; drawn: Stretch[] } {
  const { low, high } = line.band as { low: Float64Array; high: Float64Array };
  const isThere = (at: number): boolean =>
    Number.isFinite(low[at]) && isDrawable(high[at] as number, axes) && Number.isFinite(axes.x(line.xs[at] as number));
  const drawn = stretches(line.xs.length, isThere).filter(([from, to]) => to - from > 1);
  return { low: axes.logY ? low.map((y) => Math.max(y, axes.yRange[0])) : low, high, drawn };
}

function stretches(length: number, isThere: (at: number) => boolean): Stretch[] {
  const found: Stretch[] = [];
  let from = -1;
  for (let at = 0; at <= length; at++) {
    const isHere = at < length && isThere(at);
    if (isHere && from < 0) from = at;
    if (isHere || from < 0) continue;
    found.push([from, at]);
    from = -1;
  }
  return found;
}
