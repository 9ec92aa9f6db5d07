// SPDX-License-Identifier: Apache-2.0
// Curves with more points than a chart has columns: a line through their extremes, or a calm line and a band around it.

export interface Band {
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

/**
 * Where the least and the most of neighbouring points stand, in at most `most` buckets, in their order; of a bucket
 * without numbers its last point. A line through these looks like one through all points: every peak is on it.
 */
export function extremePlaces(ys: Float64Array, most: number): Uint32Array {
  const size = Math.max(1, Math.ceil(ys.length / Math.max(1, most)));
  const found = new Uint32Array(2 * Math.ceil(ys.length / size) + 2);
  let count = 0;
  const add = (at: number): void => {
    if (!count || (found[count - 1] as number) < at) found[count++] = at;
  };
  if (ys.length) add(0);
  for (let begin = 0; begin < ys.length; begin += size) {
    const end = Math.min(ys.length, begin + size);
    let [low, high] = [-1, -1];
    for (let at = begin; at < end; at++) {
      const y = ys[at] as number;
      if (!Number.isFinite(y)) continue;
      if (low < 0 || y < (ys[low] as number)) low = at;
      if (high < 0 || y > (ys[high] as number)) high = at;
    }
    if (low < 0) add(end - 1);
    else {
      add(Math.min(low, high));
      add(Math.max(low, high));
    }
  }
  if (ys.length) add(ys.length - 1);
  return found.slice(0, count);
}

/** Neighbouring points as at most `most` buckets; of each the last number is drawn and its extremes are the band. */
export function reduceToBand(ys: Float64Array, most: number): Band {
  const size = Math.max(1, Math.ceil(ys.length / Math.max(1, most)));
  const count = Math.ceil(ys.length / size);
  const out = {
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
    out.low[bucket] = high === -Infinity ? NaN : low;
    out.high[bucket] = high === -Infinity ? NaN : high;
    out.places[bucket] = last;
  }
  return out;
}
