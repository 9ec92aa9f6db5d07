// SPDX-License-Identifier: Apache-2.0
// Round places along an axis: numbers, durations, and times of day.
import type { Span, XKind } from "../lines/line";

export const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];

/** Seconds between two ticks that people count in: 15 minutes, not 1000 seconds. */
const DURATIONS = [1, 2, 5, 10, 15, 20, 30].flatMap((count) => [count, count * MINUTE]);
DURATIONS.push(...[1, 2, 3, 6, 12].map((count) => count * HOUR));
DURATIONS.sort((one, other) => one - other);

/** Places of a logarithmic axis of time: few and many of them. */
const DECADES_OF_TIME = [1, 10, MINUTE, 10 * MINUTE, HOUR, 10 * HOUR];
const PARTS_OF_TIME = [1, 2, 5, 10, 30].flatMap((count) => [count, count * MINUTE]);
PARTS_OF_TIME.push(HOUR, 2 * HOUR, 5 * HOUR, 12 * HOUR);

export interface TickOptions {
  kind: XKind;
  log: boolean;
  /** About so many. */
  count: number;
}

/** From left to right, all inside of the axis. */
export function tickValues(span: Span, { kind, log, count }: TickOptions): number[] {
  const room = Math.max(2, count);
  // A time of day has no logarithm that means anything.
  if (kind === "wall") return clockTicks(span, timeDistance(span, room));
  const linear = (): number[] =>
    multiples(span, kind === "relative" ? timeDistance(span, room) : distance(span, room, kind));
  return log ? logTicks(span, kind === "relative", room, linear) : linear();
}

function distance([from, to]: Span, count: number, kind: XKind): number {
  const found = roundAbove((to - from) / count);
  return kind === "step" ? Math.max(1, found) : found; // there are no halves of steps
}

function timeDistance([from, to]: Span, count: number): number {
  const rough = (to - from) / count;
  if (rough <= 0.5) return roundAbove(rough);
  return DURATIONS.find((seconds) => seconds >= rough) ?? roundAbove(rough / DAY) * DAY;
}

/** 1, 2 or 5 times a power of ten. */
function roundAbove(rough: number): number {
  const size = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((one) => one * size >= rough * (1 - 1e-9)) ?? 10;
  return Number((factor * size).toPrecision(1));
}

function multiples([from, to]: Span, step: number): number[] {
  const found: number[] = [];
  const first = Math.ceil(from / step - 1e-6);
  for (let at = first; at < first + 50; at++) {
    const exact = at * step;
    const value = Number.isInteger(exact) ? exact + 0 : Number(exact.toPrecision(15)); // 0.3 and 0, not 0.30000000000000004 and −0
    if (value > to) break;
    if (value >= from) found.push(value);
  }
  return found;
}

/** Midnight, noon and full hours of this place, whose clocks may change along the axis. */
function clockTicks(span: Span, step: number): number[] {
  const ahead = (time: number): number => new Date(time * 1000).getTimezoneOffset() * -60;
  const [first, last] = [span[0] + ahead(span[0]), span[1] + ahead(span[1])];
  return multiples([first, last], step).flatMap((local) => {
    const time = local - ahead(local - ahead(local));
    return time >= span[0] && time <= span[1] ? [time] : [];
  });
}

function logTicks(span: Span, isTime: boolean, count: number, linear: () => number[]): number[] {
  const inside = (places: readonly number[]): number[] => places.filter((at) => at >= span[0] && at <= span[1]);
  const parts = inside(places(span, [1, 2, 5], isTime ? PARTS_OF_TIME : undefined));
  if (parts.length < 3) return linear(); // between two of them
  if (parts.length <= count) return parts;
  const decades = inside(places(span, [1], isTime ? DECADES_OF_TIME : undefined));
  const every = Math.ceil(decades.length / count);
  return decades.filter((_, at) => at % every === 0);
}

/** Times below a second and from a day on have decades as numbers do; `between` are those of seconds, minutes and hours. */
function places([from, to]: Span, digits: readonly number[], between?: readonly number[]): number[] {
  const of = (low: number, high: number): number[] => {
    const first = Math.floor(Math.log10(low));
    const powers = Array.from({ length: Math.max(0, Math.ceil(Math.log10(high)) - first + 1) }, (_, at) => first + at);
    return powers.flatMap((power) => digits.map((digit) => Number((digit * 10 ** power).toPrecision(1))));
  };
  if (!between) return of(from, to);
  const short = of(Math.min(from, 1), 1).filter((seconds) => seconds < 1);
  const long = of(1, Math.max(1, to / DAY)).map((days) => days * DAY);
  return [...short, ...between, ...long].sort((one, other) => one - other);
}
