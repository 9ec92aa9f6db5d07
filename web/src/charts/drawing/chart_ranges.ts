// SPDX-License-Identifier: Apache-2.0
// From where to where the axes of a chart go: what is asked for, or what its lines need.
import { lowerBound } from "../lines/interpolation";
import type { Line, Span } from "../lines/line";
import { valueRange } from "./value_range";

export interface RangeOptions {
  zoom: Span | null;
  logX: boolean;
  logY: boolean;
  outliers: boolean;
  bands: boolean;
}

export function chartRanges(lines: readonly Line[], options: RangeOptions): { x: Span; y: Span } {
  const x = shownX(lines, options);
  const y = valueRange(valuesWithin(lines, x, options), { outliers: options.outliers, log: options.logY });
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

function shownX(lines: readonly Line[], { zoom, logX }: RangeOptions): Span {
  if (zoom && (!logX || zoom[0] > 0)) return zoom;
  const whole = wholeX(lines, logX);
  // A logarithmic axis has no place for zero, and less.
  return zoom && zoom[1] > whole[0] ? [whole[0], zoom[1]] : whole;
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

function valuesWithin(lines: readonly Line[], span: Span, options: RangeOptions): Float64Array {
  const columns = lines.flatMap((line) => drawnColumns(line, options.bands));
  const found = new Float64Array(columns.reduce((sum, { xs }) => sum + 2 + xs.length, 0));
  let count = 0;
  for (const { xs, ys } of columns) {
    for (let at = 0; at < xs.length; at++) {
      const x = xs[at] as number;
      if (x >= span[0] && x <= span[1]) found[count++] = ys[at] as number;
    }
    // Of the way to the neighbours outside only what is seen counts: as far as the edges.
    for (const edge of span) found[count++] = heightAt(edge, xs, ys, options);
  }
  return found.subarray(0, count);
}

/** All that is drawn of a line: itself, what it was before it was smoothed, and its band. */
function drawnColumns({ xs, ys, raw, band }: Line, bands: boolean): { xs: Float64Array; ys: Float64Array }[] {
  const found = [{ xs, ys }];
  if (raw) found.push(raw);
  if (bands && band) found.push({ xs, ys: band.low }, { xs, ys: band.high });
  return found;
}

/** Where the straight line between two points passes an edge, as it is drawn; NaN where there is none. */
function heightAt(edge: number, xs: Float64Array, ys: Float64Array, { logX, logY }: RangeOptions): number {
  const after = lowerBound(xs, edge);
  if (after === 0 || after === xs.length) return NaN;
  const [left, right, here] = [xs[after - 1] as number, xs[after] as number, edge].map((x) => (logX ? Math.log(x) : x));
  const share = ((here as number) - (left as number)) / ((right as number) - (left as number));
  const [from, to] = [ys[after - 1] as number, ys[after] as number];
  return logY ? from ** (1 - share) * to ** share : from + (to - from) * share;
}
