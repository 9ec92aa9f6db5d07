// SPDX-License-Identifier: Apache-2.0
// Several curves as one: their centre, and how far they are from it.
import { commonPlaces, valueAt } from "./interpolation";
import { median } from "./smoothing";

export type Centre = "mean" | "median";
export type Area = "range" | "deviation" | "confidence" | "none";

export interface Aggregate {
  xs: Float64Array;
  ys: Float64Array;
  low: Float64Array;
  high: Float64Array;
  /** How many curves have a value at each place. */
  counts: Float64Array;
}

const MOST_PLACES = 600;

interface Member {
  xs: Float64Array;
  ys: Float64Array;
  /** What its points stand for, where that is more than themselves: extremes are kept of reduced curves, and are no centre. */
  level?: Float64Array;
}

/**
 * At every place only the curves count that reach so far; values between points are on the line between them. The range
 * is that of all points since the place before.
 */
export function aggregateCurves(curves: readonly Member[], centre: Centre, area: Area): Aggregate {
  const xs = commonPlaces(
    curves.map((curve) => curve.xs),
    MOST_PLACES,
  );
  const out: Aggregate = {
    xs,
    ys: new Float64Array(xs.length),
    low: new Float64Array(xs.length),
    high: new Float64Array(xs.length),
    counts: new Float64Array(xs.length),
  };
  const values = new Float64Array(curves.length);
  const ranges = rangesUntil(curves);
  for (let at = 0; at < xs.length; at++) {
    let count = 0;
    for (const curve of curves) {
      const y = valueAt(curve.xs, curve.level ?? curve.ys, xs[at] as number);
      if (Number.isFinite(y)) values[count++] = y;
    }
    const here = values.subarray(0, count);
    const middle = centre === "median" ? median(here) : mean(here);
    const [low, high] = area === "range" ? ranges(xs[at] as number, here) : spread(here, middle, area);
    out.ys[at] = middle;
    out.low[at] = low;
    out.high[at] = high;
    out.counts[at] = count;
  }
  return out;
}

/** For one place after the other: from the least to the most of its values and of the points since the place before. */
function rangesUntil(curves: readonly Member[]): (place: number, values: Float64Array) => [number, number] {
  const nexts = new Uint32Array(curves.length);
  return (place, values) => {
    let low = Infinity;
    let high = -Infinity;
    const take = (y: number): void => {
      if (!Number.isFinite(y)) return;
      if (y < low) low = y;
      if (y > high) high = y;
    };
    values.forEach(take);
    curves.forEach(({ xs, ys }, which) => {
      let next = nexts[which] as number;
      for (; next < xs.length && !((xs[next] as number) > place); next++) take(ys[next] as number);
      nexts[which] = next;
    });
    return low <= high ? [low, high] : [NaN, NaN];
  };
}

function spread(values: Float64Array, middle: number, area: Exclude<Area, "range">): [number, number] {
  if (!values.length || area === "none") return [middle, middle];
  const deviation = standardDeviation(values);
  const reach = area === "deviation" ? deviation : (t95(values.length) * deviation) / Math.sqrt(values.length);
  return [middle - reach, middle + reach];
}

export function mean(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return values.length ? sum / values.length : NaN;
}

/** Of a sample: one run says nothing about how far runs are apart. */
export function standardDeviation(values: Float64Array): number {
  if (values.length < 2) return 0;
  const middle = mean(values);
  let sum = 0;
  for (const value of values) sum += (value - middle) ** 2;
  return Math.sqrt(sum / (values.length - 1));
}

// Student's t for 95 %: few runs are less certain than 1.96 would say.
const T95 = [
  0, 0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
];

export function t95(count: number): number {
  if (count < T95.length) return T95[count] ?? 0;
  return 1.96 + 2.5 / (count - 1);
}
