// SPDX-License-Identifier: Apache-2.0
// Curves with more points than a chart has columns: a line, and a band from the least to the most around it.

export interface Banded {
  xs: Float64Array;
  ys: Float64Array;
  low: Float64Array;
  high: Float64Array;
  /** Where in the curve the point of each bucket stands. */
  places: Uint32Array;
}

/** The values at these places; a loop, because `from` with a function takes a multiple of its time. */
export function valuesAt(values: Float64Array, places: Uint32Array): Float64Array {
  const taken = new Float64Array(places.length);
  for (let at = 0; at < places.length; at++) taken[at] = values[places[at] as number] as number;
  return taken;
}

/** Neighbouring points as at most `most` buckets; of each the last number is drawn and its extremes are the band. */
export function banded(xs: Float64Array, ys: Float64Array, most: number): Banded {
  const size = Math.max(1, Math.ceil(ys.length / Math.max(1, most)));
  const count = Math.ceil(ys.length / size);
  const out = {
    xs: new Float64Array(count),
    ys: new Float64Array(count),
    low: new Float64Array(count),
    high: new Float64Array(count),
    places: new Uint32Array(count),
  };
  for (let bucket = 0; bucket < count; bucket++) {
    const to = Math.min(ys.length, (bucket + 1) * size);
    // One by one, as this runs before the browser has made code of it: taking arrays apart is slow there.
    let low = Infinity;
    let high = -Infinity;
    let last = to - 1;
    for (let at = to - 1; at >= bucket * size; at--) {
      const y = ys[at] as number;
      if (!Number.isFinite(y)) continue;
      if (high === -Infinity) last = at;
      if (y < low) low = y;
      if (y > high) high = y;
    }
    out.xs[bucket] = xs[last] as number;
    out.ys[bucket] = ys[last] as number;
    out.low[bucket] = high === -Infinity ? NaN : low;
    out.high[bucket] = high === -Infinity ? NaN : high;
    out.places[bucket] = last;
  }
  return out;
}
