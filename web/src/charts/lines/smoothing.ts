// SPDX-License-Identifier: Apache-2.0
// Smoothing of curves: several kinds, all of them blind to NaN, which stays where it was.
import type { Parts } from "../../model/curve";

export type Smoothing = "none" | "exponential" | "time" | "mean" | "gaussian" | "median";

/** Parts of a curve without any: each of its points stands for `count` of the whole curve. */
export function evenParts(ys: Float64Array, count = 1): Parts {
  return { means: ys, counts: new Float64Array(ys.length).fill(count) };
}

/**
 * `amount` is from 0 to 1, more is smoother. `parts` say what each point stands for, so that a curve that was reduced
 * for the screen is smoothed to what the whole one would be: the extremes that it was reduced to weigh no more than
 * others.
 */
export function smooth(
  kind: Smoothing,
  xs: Float64Array,
  ys: Float64Array,
  amount: number,
  parts: Parts = evenParts(ys),
): Float64Array {
  switch (kind) {
    case "none":
      return ys;
    case "exponential":
      return exponential(ys, parts, amount, (at) => parts.counts[at] as number);
    case "time":
      return exponential(ys, parts, amount, spacing(xs, parts));
    case "mean":
      return movingMean(ys, parts, windowsOf(parts, amount));
    case "gaussian":
      return gaussian(ys, parts, windowsOf(parts, amount));
    case "median":
      // Of a reduced curve the points themselves: it keeps as many that are small as that are large.
      return medians(ys, radius(ys.length, amount));
  }
}

/** A mean of all points before, newer ones counting more; without a pull to zero at the beginning. */
function exponential(ys: Float64Array, { means }: Parts, amount: number, age: (at: number) => number): Float64Array {
  let sum = 0;
  let norm = 0;
  return ys.map((y, at) => {
    const mean = means[at] as number;
    if (Number.isFinite(mean)) {
      const kept = Math.pow(amount, age(at));
      sum = sum * kept + mean * (1 - kept);
      norm = norm * kept + (1 - kept);
    }
    return Number.isFinite(y) && norm > 0 ? sum / norm : y;
  });
}

/** How far a point is from the one before it, in usual distances: what is far away is forgotten sooner. */
function spacing(xs: Float64Array, { counts }: Parts): (at: number) => number {
  const count = usualCount(counts);
  const whole = (xs.at(-1) ?? 0) - (xs[0] ?? 0);
  const unit = whole > 0 ? whole / (xs.length - 1) : 1;
  return (at) =>
    at === 0 ? (counts[0] as number) : Math.max((count * ((xs[at] as number) - (xs[at - 1] as number))) / unit, 1e-9);
}

function usualCount(counts: Float64Array): number {
  return counts.reduce((sum, count) => sum + count, 0) / counts.length;
}

/** How many points to either side: up to a quarter of the curve. */
function radius(length: number, amount: number): number {
  return Math.max(1, Math.round((Math.pow(amount, 2) * length) / 8));
}

/** What is near each point, in points of the whole curve, counted along it. */
interface Windows {
  /** Where parts begin and end. */
  edges: Float64Array;
  middles: Float64Array;
  /** How far the middles of other parts may be away that have the usual size. */
  radius: number;
  /** How far a window goes to either side. */
  reach: number;
  /** Parts of which something is in the window of each, from the first to behind the last. */
  from: Uint32Array;
  to: Uint32Array;
}

function windowsOf({ counts }: Parts, amount: number): Windows {
  const { length } = counts;
  const edges = new Float64Array(length + 1);
  for (let at = 0; at < length; at++) edges[at + 1] = (edges[at] as number) + (counts[at] as number);
  const middles = counts.map((count, at) => (edges[at] as number) + count / 2);
  const usual = usualCount(counts);
  const reach = usual * (radius(length, amount) + 0.5);
  const least = usual * 1e-9; // sums of counts that are no whole numbers are not exact
  const [from, to] = [new Uint32Array(length), new Uint32Array(length)];
  for (let at = 0, first = 0, last = 0; at < length; at++) {
    const middle = middles[at] as number;
    while (first < at && (edges[first + 1] as number) <= middle - reach + least) first += 1;
    while (last < length && (last <= at || (edges[last] as number) < middle + reach - least)) last += 1;
    from[at] = first;
    to[at] = last;
  }
  return { edges, middles, radius: reach - usual / 2, reach, from, to };
}

function movingMean(ys: Float64Array, { means, counts }: Parts, windows: Windows): Float64Array {
  const { edges, middles, reach, from, to } = windows;
  const known = counts.map((count, at) => (Number.isFinite(means[at]) ? count : 0));
  const sumOf = sumsBetween(known.map((count, at) => (count > 0 ? count * (means[at] as number) : 0)));
  const countOf = sumsBetween(known);
  return ys.map((y, at) => {
    if (!Number.isFinite(y)) return y;
    const [first, last] = [from[at] as number, (to[at] as number) - 1];
    let sum = sumOf(first + 1, last);
    let norm = countOf(first + 1, last);
    // Of the outermost parts only what is inside.
    for (const part of first === last ? [first] : [first, last]) {
      if (!known[part]) continue;
      const begin = Math.max(edges[part] as number, (middles[at] as number) - reach);
      const share = Math.min(edges[part + 1] as number, (middles[at] as number) + reach) - begin;
      sum += (means[part] as number) * share;
      norm += share;
    }
    return norm > 0 ? sum / norm : y;
  });
}

/** Sums of any stretch, from a tree of sums: without differences, in which one huge value would swallow all others. */
function sumsBetween(values: Float64Array): (from: number, to: number) => number {
  const size = values.length;
  const tree = new Float64Array(2 * size);
  tree.set(values, size);
  for (let at = size - 1; at > 0; at--) tree[at] = (tree[2 * at] as number) + (tree[2 * at + 1] as number);
  return (from, to) => {
    let sum = 0;
    for (let low = from + size, high = to + size; low < high; low >>= 1, high >>= 1) {
      if (low & 1) sum += tree[low++] as number;
      if (high & 1) sum += tree[--high] as number;
    }
    return sum;
  };
}

function gaussian(ys: Float64Array, { means }: Parts, windows: Windows): Float64Array {
  const { edges, middles, reach, from, to } = windows;
  const width = windows.radius / 2;
  return ys.map((y, at) => {
    if (!Number.isFinite(y)) return y;
    const middle = middles[at] as number;
    let sum = 0;
    let norm = 0;
    for (let near = from[at] as number; near < (to[at] as number); near++) {
      const mean = means[near] as number;
      if (!Number.isFinite(mean)) continue;
      const begin = Math.max(edges[near] as number, middle - reach);
      const end = Math.min(edges[near + 1] as number, middle + reach);
      const distance = (begin + end) / 2 - middle;
      const share = (end - begin) * Math.exp(-0.5 * (distance / width) ** 2);
      sum += mean * share;
      norm += share;
    }
    return norm > 0 ? sum / norm : y;
  });
}

function medians(ys: Float64Array, reach: number): Float64Array {
  const capped = Math.min(reach, 50); // sorting every window of a wide one would take seconds
  return ys.map((y, at) => {
    if (!Number.isFinite(y)) return y;
    const near = ys.slice(Math.max(0, at - capped), at + capped + 1).filter(Number.isFinite);
    return median(near);
  });
}

export function median(values: Float64Array): number {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  if (!sorted.length) return NaN;
  return sorted.length % 2
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}
