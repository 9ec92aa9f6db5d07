// SPDX-License-Identifier: Apache-2.0
// Other parts of an axis: moved along it, or wider and narrower around a place of it.
import type { Span } from "../lines/line";

/** By a share of its length: 0.5 shows what begins in its middle. */
export function panSpan(span: Span, share: number, isLog: boolean): Span {
  return onAxis(span, isLog, ([from, to]) => {
    const by = (to - from) * share;
    return [from + by, to + by];
  });
}

/** `factor` times as long, with `share` of it staying where it is: 0 the beginning, 1 the end. */
export function zoomSpan(span: Span, factor: number, share: number, isLog: boolean): Span {
  return onAxis(span, isLog, ([from, to]) => {
    const at = from + (to - from) * share;
    return [at - (at - from) * factor, at + (to - at) * factor];
  });
}

function onAxis([from, to]: Span, isLog: boolean, move: (span: Span) => Span): Span {
  if (!isLog) return move([from, to]);
  const [low, high] = move([Math.log10(from), Math.log10(to)]);
  return [10 ** low, 10 ** high];
}
