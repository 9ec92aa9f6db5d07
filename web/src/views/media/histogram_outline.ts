// SPDX-License-Identifier: Apache-2.0
// Histograms as outlines: the share of the values in each of equal parts of an axis, so that buckets of any width and
// histograms of any size can be compared.
import type { HistogramEntry } from "../../data/files";
import { toNumber } from "../../model/wire";

export interface HistogramSpan {
  low: number;
  high: number;
}

const [WIDTH, HEIGHT] = [240, 94];
const PARTS = 60;

interface Bucket {
  left: number;
  right: number;
  held: number;
}

function buckets(entry: HistogramEntry): Bucket[] {
  return entry.counts.flatMap((count, at) => {
    const [left, right, held] = [toNumber(entry.lefts[at]), toNumber(entry.rights[at]), toNumber(count)];
    return held > 0 && right >= left && Number.isFinite(left) && Number.isFinite(right) ? [{ left, right, held }] : [];
  });
}

/** From the least to the greatest value of all of them. */
export function histogramSpan(entries: readonly HistogramEntry[]): HistogramSpan | undefined {
  const all = entries.flatMap(buckets);
  if (!all.length) return undefined;
  const low = all.reduce((least, bucket) => Math.min(least, bucket.left), Infinity);
  const high = all.reduce((most, bucket) => Math.max(most, bucket.right), -Infinity);
  const room = high > low ? 0 : Math.abs(low) * 0.01 || 0.5;
  return { low: low - room, high: high + room };
}

/** Which share of the values is in each part of the span; a bucket gives its values evenly to the parts that it covers. */
export function shares(entry: HistogramEntry, { low, high }: HistogramSpan): number[] {
  const found = new Array<number>(PARTS).fill(0);
  const all = buckets(entry);
  const total = all.reduce((sum, bucket) => sum + bucket.held, 0) || 1;
  const partOf = (value: number): number => ((value - low) / (high - low)) * PARTS;
  for (const { left, right, held } of all) {
    const [from, to] = [partOf(left), partOf(right)];
    const [first, last] = [Math.min(PARTS - 1, Math.floor(from)), Math.min(PARTS - 1, Math.floor(to))];
    for (let part = first; part <= last; part++) {
      const covered = to > from ? (Math.min(part + 1, to) - Math.max(part, from)) / (to - from) : 1;
      found[part] = (found[part] ?? 0) + (held / total) * covered;
    }
  }
  return found;
}

export function highestShare(entries: readonly HistogramEntry[], span: HistogramSpan): number {
  return entries.reduce((most, entry) => Math.max(most, ...shares(entry, span)), 0);
}

/** `most` is the share that fills the height; without it the highest of its own, or one narrow step would flatten all others. */
export function histogramOutline(entry: HistogramEntry, span: HistogramSpan, most?: number): string {
  const parts = shares(entry, span);
  const height = most ?? Math.max(...parts);
  const x = (part: number): string => ((part / PARTS) * WIDTH).toFixed(1);
  const y = (share: number): string => (HEIGHT - (share / (height || 1)) * (HEIGHT - 4)).toFixed(1);
  const steps = parts.map((share, part) => `L${x(part)} ${y(share)}L${x(part + 1)} ${y(share)}`);
  return `M0 ${HEIGHT}${steps.join("")}L${WIDTH} ${HEIGHT}Z`;
}
