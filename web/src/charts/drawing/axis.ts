// SPDX-License-Identifier: Apache-2.0
// An axis: where values stand on it, its ticks, and other parts of it. Canvas, SVG and parameter plots share it.
import type { Span, XKind } from "../lines/line";
import { axisTexts } from "./axis_text";
import { tickValues } from "./ticks";

export interface Axis {
  kind: XKind;
  span: Span;
  isLog: boolean;
}

export interface Tick {
  value: number;
  /** A second line follows a line break. */
  text: string;
}

/** About `count` ticks at round values, in ascending order. */
export function axisTicks({ kind, span, isLog }: Axis, count: number): Tick[] {
  const values = tickValues(span, { kind, log: isLog, count });
  return axisTexts(kind, values, isLog).map((text, at) => ({ value: values[at] as number, text }));
}

/** From values to pixels. Plain arithmetic, because it runs for every point of every line. */
export function axisScale({ span: [from, to], isLog }: Omit<Axis, "kind">, begin: number, length: number) {
  if (isLog) {
    const low = Math.log10(from);
    const perDecade = length / (Math.log10(to) - low || 1);
    return (value: number): number => begin + (Math.log10(value) - low) * perDecade;
  }
  const perUnit = length / (to - from || 1);
  return (value: number): number => begin + (value - from) * perUnit;
}

/** The value at a share of the axis: 0 is its start, 1 its end. */
export function valueAt({ span: [from, to], isLog }: Omit<Axis, "kind">, share: number): number {
  return isLog ? from * (to / from) ** share : from + (to - from) * share;
}

/** The span moved by a share of its length: 0.5 starts at its middle. */
export function panSpan(span: Span, share: number, isLog: boolean): Span {
  return transformSpan(span, isLog, ([from, to]) => {
    const by = (to - from) * share;
    return [from + by, to + by];
  });
}

/** A span `factor` times as long. The value at `share` keeps its place. */
export function zoomSpan(span: Span, factor: number, share: number, isLog: boolean): Span {
  return transformSpan(span, isLog, ([from, to]) => {
    const at = from + (to - from) * share;
    return [at - (at - from) * factor, at + (to - at) * factor];
  });
}

function transformSpan([from, to]: Span, isLog: boolean, transform: (span: Span) => Span): Span {
  if (!isLog) return transform([from, to]);
  const [low, high] = transform([Math.log10(from), Math.log10(to)]);
  return [10 ** low, 10 ** high];
}
