// SPDX-License-Identifier: Apache-2.0
// Histograms as outlines: how many values there are per unit, so that buckets of any width can be compared.
import type { HistogramEntry } from "../api/files";
import { toNumber } from "../api/wire";

export interface HistogramSpan {
  low: number;
  high: number;
  most: number;
}

const [WIDTH, HEIGHT] = [240, 94];

interface Bucket {
  left: number;
  right: number;
  density: number;
}

function buckets(entry: HistogramEntry): Bucket[] {
  return entry.counts.flatMap((count, at) => {
    const [left, right, held] = [toNumber(entry.lefts[at]), toNumber(entry.rights[at]), toNumber(count)];
    return right > left && Number.isFinite(left) && Number.isFinite(right)
      ? [{ left, right, density: held / (right - left) }]
      : [];
  });
}

export function histogramSpan(entries: readonly HistogramEntry[]): HistogramSpan | undefined {
  const all = entries.flatMap(buckets).filter((bucket) => bucket.density > 0);
  if (!all.length) return undefined;
  return {
    low: Math.min(...all.map((bucket) => bucket.left)),
    high: Math.max(...all.map((bucket) => bucket.right)),
    most: Math.max(...all.map((bucket) => bucket.density)),
  };
}

export function histogramOutline(entry: HistogramEntry, span: HistogramSpan): string {
  const x = (value: number): string => (((value - span.low) / (span.high - span.low || 1)) * WIDTH).toFixed(1);
  const seen = buckets(entry).filter((bucket) => bucket.left < span.high && bucket.right > span.low);
  // The highest of its own step fills the height: otherwise one narrow step would flatten all others.
  const most = Math.max(...seen.map((bucket) => bucket.density), 0) || 1;
  const y = (density: number): string => (HEIGHT - (density / most) * (HEIGHT - 4)).toFixed(1);
  const steps = seen.map((bucket) => `L${x(bucket.left)} ${y(bucket.density)}L${x(bucket.right)} ${y(bucket.density)}`);
  const [first, last] = [seen[0], seen.at(-1)];
  if (!first || !last) return "";
  return `M${x(first.left)} ${HEIGHT}${steps.join("")}L${x(last.right)} ${HEIGHT}Z`;
}
