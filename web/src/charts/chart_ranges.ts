// SPDX-License-Identifier: Apache-2.0
// From where to where the axes of a chart go: what is asked for, or what its lines need.
import type { Line } from "./curve";
import { valueRange, type Span } from "./value_range";

export interface RangeOptions {
  zoom: Span | null;
  logX: boolean;
  logY: boolean;
  outliers: boolean;
  bands: boolean;
}

export function chartRanges(lines: readonly Line[], options: RangeOptions): { x: Span; y: Span } {
  const x = options.zoom && !options.logX ? options.zoom : wholeX(lines, options.logX);
  const y = valueRange(valuesWithin(lines, x, options.bands), { outliers: options.outliers, log: options.logY });
  return { x: wideEnough(x), y: wideEnough(y) };
}

const LEAST_WIDTH = 1e-10;

/** Numbers that are told apart by their last digits only cannot be divided further: an axis of them has no ticks. */
function wideEnough([from, to]: Span): Span {
  const least = Math.max(Math.abs(from), Math.abs(to)) * LEAST_WIDTH;
  if (to - from >= least) return [from, to];
  const middle = (from + to) / 2;
  return [middle - least / 2, middle + least / 2];
}

function wholeX(lines: readonly Line[], log: boolean): Span {
  let [low, high] = [Infinity, -Infinity];
  for (const { xs } of lines) {
    // Sorted, so that the ends are at the ends; a logarithmic axis begins with the first that is above zero.
    const first = log ? xs.find((value) => value > 0) : xs[0];
    const last = xs.at(-1);
    if (first !== undefined && first < low) low = first;
    if (last !== undefined && last > high) high = last;
  }
  if (!(low <= high) || !Number.isFinite(low) || !Number.isFinite(high)) return log ? [1, 10] : [0, 1];
  if (low < high) return [low, high];
  const room = Math.abs(low) * 1e-9 || 0.5;
  return log ? [low / 2, low * 2] : [low - Math.max(room, 0.5), low + Math.max(room, 0.5)];
}

function valuesWithin(lines: readonly Line[], [from, to]: Span, bands: boolean): Float64Array {
  const found = new Float64Array(3 * lines.reduce((sum, line) => sum + line.xs.length, 0));
  let count = 0;
  for (const { xs, ys, band } of lines) {
    for (let at = 0; at < xs.length; at++) {
      const x = xs[at] as number;
      // The neighbours of what is seen are drawn towards, but their height does not count.
      if (x < from || x > to) continue;
      found[count++] = ys[at] as number;
      if (!bands || !band) continue;
      found[count++] = band.low[at] as number;
      found[count++] = band.high[at] as number;
    }
  }
  return found.subarray(0, count);
}
