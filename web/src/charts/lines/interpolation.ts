// SPDX-License-Identifier: Apache-2.0
// Values of a curve between its points, and places that several curves have in common.

/** The first place whose x is not smaller. */
export function lowerBound(xs: Float64Array, x: number): number {
  let [low, high] = [0, xs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] as number) < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The value at `x` on the line between its neighbours; NaN beyond both ends and beside what is no number. */
export function valueAt(xs: Float64Array, ys: Float64Array, x: number): number {
  const after = lowerBound(xs, x);
  if (after === xs.length) return NaN;
  if (xs[after] === x) return ys[after] as number;
  if (after === 0) return NaN;
  const [x0, x1] = [xs[after - 1] as number, xs[after] as number];
  const [y0, y1] = [ys[after - 1] as number, ys[after] as number];
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

/** Places of all curves together, at most `most` of them. */
export function commonPlaces(all: readonly Float64Array[], most: number): Float64Array {
  const found = new Set<number>();
  for (const xs of all) for (const x of xs) if (Number.isFinite(x)) found.add(x);
  const sorted = Float64Array.from(found).sort();
  if (sorted.length <= most) return sorted;
  const step = (sorted.length - 1) / (most - 1);
  return Float64Array.from({ length: most }, (_, at) => sorted[Math.round(at * step)] as number);
}
