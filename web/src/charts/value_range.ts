// SPDX-License-Identifier: Apache-2.0
// From where to where an axis goes.

export type Span = readonly [number, number];

/** The span of the numbers, with a little room; with `outliers` those far from the others do not count. */
export function valueRange(values: Iterable<number>, options: { outliers: boolean; log: boolean }): Span {
  let numbers = Float64Array.from(values).filter((value) => Number.isFinite(value) && (!options.log || value > 0));
  if (!numbers.length) return options.log ? [0.1, 1] : [0, 1];
  if (options.outliers && numbers.length > 20) numbers = withoutOutliers(numbers);
  let [low, high] = [Infinity, -Infinity];
  for (const value of numbers) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (options.log) {
    const room = Math.max((Math.log10(high) - Math.log10(low)) * 0.05, 0.02);
    return [low / 10 ** room, high * 10 ** room];
  }
  const room = high > low ? (high - low) * 0.06 : Math.abs(high) * 0.1 || 1;
  return [low - room, high + room];
}

/** Between the 5th and 95th of a hundred, and half of that again to both sides: what TensorBoard's users know. */
function withoutOutliers(values: Float64Array): Float64Array<ArrayBuffer> {
  const sorted = Float64Array.from(values).sort();
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] as number;
  const [low, high] = [at(0.05), at(0.95)];
  const reach = (high - low) * 0.5;
  return sorted.filter((value) => value >= low - reach && value <= high + reach);
}
