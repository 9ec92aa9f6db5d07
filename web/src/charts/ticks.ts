// SPDX-License-Identifier: Apache-2.0
// Round numbers along an axis.
import type { Span } from "./value_range";

export function tickDistance([from, to]: Span): number {
  const rough = (to - from) / 6;
  const size = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5, 10].find((factor) => factor * size >= rough) ?? 10) * size;
}

/** Whether a logarithmic axis is too short to be told by powers of ten. */
export function isShort([from, to]: Span): boolean {
  return Math.floor(Math.log10(to)) - Math.ceil(Math.log10(from)) < 1;
}

export function ticks(span: Span, log: boolean): number[] {
  const [from, to] = span;
  const found: number[] = [];
  if (log && !isShort(span)) {
    for (let power = Math.ceil(Math.log10(from)); power <= Math.log10(to); power++) found.push(10 ** power);
    return found;
  }
  const step = tickDistance(span);
  for (let at = Math.ceil(from / step); at * step <= to && found.length < 50; at++)
    found.push(Number((at * step).toPrecision(12)));
  return found;
}
