// SPDX-License-Identifier: Apache-2.0
// From where to where an axis goes.
import type { Span } from "../lines/line";

/** The span of the numbers, with a little room; with `outliers` those far from the others do not count. */
export function valueRange(values: Float64Array, options: { outliers: boolean; log: boolean }): Span {
  const isCounted = (value: number): boolean => Number.isFinite(value) && (!options.log || value > 0);
  const numbers = options.outliers ? withoutOutliers(values.filter(isCounted)) : values;
  let low = Infinity;
  let high = -Infinity;
  // By place: with an iterator this takes a multiple, and a chart of a hundred runs has a hundred thousand values.
  const least = options.log ? 0 : -Infinity;
  for (let at = 0; at < numbers.length; at++) {
    const value = numbers[at] as number;
    if (!(value > least && value < Infinity)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return options.log ? [0.1, 1] : [0, 1];
  if (options.log) {
    const room = Math.max((Math.log10(high) - Math.log10(low)) * 0.05, 0.02);
    return [low / 10 ** room, high * 10 ** room];
  }
  const room = high > low ? (high - low) * 0.06 : Math.abs(high) * 0.1 || 1;
  return [low - room, high + room];
}

/** Between the 5th and 95th of a hundred, and half of that again to both sides: what TensorBoard's users know. */
function withoutOutliers(values: Float64Array): Float64Array {
  if (values.length <= 20) return values;
  const sorted = Float64Array.from(values).sort();
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] as number;
  const [low, high] = [at(0.05), at(0.95)];
  const reach = (high - low) * 0.5;
  return sorted.filter((value) => value >= low - reach && value <= high + reach);
}
