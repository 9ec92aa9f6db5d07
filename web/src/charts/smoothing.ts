// SPDX-License-Identifier: Apache-2.0
// Smoothing of curves: several kinds, all of them blind to NaN, which stays where it was.

export type Smoothing = "none" | "exponential" | "time" | "mean" | "gaussian" | "median";

/**
 * `amount` is from 0 to 1, more is smoother. `weight` says for how many points of the whole curve one that is here
 * stands, so that a curve that was reduced for the screen is as smooth as the whole one would be.
 */
export function smoothed(
  kind: Smoothing,
  xs: Float64Array,
  ys: Float64Array,
  amount: number,
  weight = 1,
): Float64Array {
  switch (kind) {
    case "none":
      return ys;
    case "exponential":
      return exponential(ys, amount, () => weight);
    case "time":
      return exponential(ys, amount, spacing(xs, weight));
    case "mean":
      return windowed(ys, radius(ys.length, amount), () => 1);
    case "gaussian":
      return gaussian(ys, radius(ys.length, amount));
    case "median":
      return medians(ys, radius(ys.length, amount));
  }
}

/** A mean of all points before, newer ones counting more; without a pull to zero at the beginning. */
function exponential(ys: Float64Array, amount: number, age: (at: number) => number): Float64Array {
  const out = new Float64Array(ys.length);
  let sum = 0;
  let norm = 0;
  for (let at = 0; at < ys.length; at++) {
    const y = ys[at] as number;
    if (!Number.isFinite(y)) {
      out[at] = y;
      continue;
    }
    const kept = Math.pow(amount, age(at));
    sum = sum * kept + y * (1 - kept);
    norm = norm * kept + (1 - kept);
    out[at] = norm > 0 ? sum / norm : y;
  }
  return out;
}

/** How far a point is from the one before it, in usual distances: what is far away is forgotten sooner. */
function spacing(xs: Float64Array, weight: number): (at: number) => number {
  const whole = (xs.at(-1) ?? 0) - (xs[0] ?? 0);
  const unit = whole > 0 ? whole / (xs.length - 1) : 1;
  return (at) => (at === 0 ? weight : Math.max((weight * ((xs[at] as number) - (xs[at - 1] as number))) / unit, 1e-9));
}

/** How many points to either side: up to a quarter of the curve. */
function radius(length: number, amount: number): number {
  return Math.max(1, Math.round((Math.pow(amount, 2) * length) / 8));
}

function windowed(ys: Float64Array, reach: number, weigh: (distance: number) => number): Float64Array {
  const out = new Float64Array(ys.length);
  const isFlat = weigh(0) === weigh(reach);
  if (isFlat) return movingMean(ys, reach);
  for (let at = 0; at < ys.length; at++) {
    let sum = 0;
    let norm = 0;
    for (let near = Math.max(0, at - reach); near <= Math.min(ys.length - 1, at + reach); near++) {
      const y = ys[near] as number;
      if (!Number.isFinite(y)) continue;
      const share = weigh(near - at);
      sum += y * share;
      norm += share;
    }
    out[at] = Number.isFinite(ys[at]) && norm > 0 ? sum / norm : (ys[at] as number);
  }
  return out;
}

function movingMean(ys: Float64Array, reach: number): Float64Array {
  const sums = new Float64Array(ys.length + 1);
  const counts = new Float64Array(ys.length + 1);
  for (let at = 0; at < ys.length; at++) {
    const y = ys[at] as number;
    const isNumber = Number.isFinite(y);
    sums[at + 1] = (sums[at] as number) + (isNumber ? y : 0);
    counts[at + 1] = (counts[at] as number) + (isNumber ? 1 : 0);
  }
  return ys.map((y, at) => {
    if (!Number.isFinite(y)) return y;
    const [from, to] = [Math.max(0, at - reach), Math.min(ys.length, at + reach + 1)];
    return ((sums[to] as number) - (sums[from] as number)) / ((counts[to] as number) - (counts[from] as number));
  });
}

function gaussian(ys: Float64Array, reach: number): Float64Array {
  const width = reach / 2;
  return windowed(ys, reach, (distance) => Math.exp(-0.5 * (distance / width) ** 2));
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
