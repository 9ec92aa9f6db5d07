// SPDX-License-Identifier: Apache-2.0
// Numbers along the axes of charts.
import { formatDuration, formatNumber } from "../../model/format";
import type { XKind } from "../lines/line";
import { DAY, HOUR, MINUTE } from "./ticks";

/** As few digits as tell the numbers of an axis apart. */
export function axisNumber(value: number, increment: number): string {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-5)) return value.toExponential(1).replace("e+", "e").replace(".0e", "e");
  for (const [unit, letter] of [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const) {
    if (size >= unit * 10 || (size >= unit && unit > 1e3)) return `${trimmed(value / unit, increment / unit)}${letter}`;
  }
  return trimmed(value, increment);
}

function trimmed(value: number, increment: number): string {
  const digits = digitsOf(increment);
  return value.toFixed(digits).replace("-", "−");
}

/** A place on the axis, in full. */
export function placeText(kind: XKind, x: number, exact?: bigint): string {
  if (kind === "step") return `step ${exact !== undefined ? exact.toString() : formatNumber(x, 8)}`;
  if (kind === "relative") return `${formatDuration(Math.max(0, x)) || "0 s"} after the start`;
  if (kind === "wall") return new Date(x * 1000).toLocaleString();
  return formatNumber(x, 6);
}

/** What stands at the ticks of an axis; a second line is divided by a line break. */
export function axisTexts(kind: XKind, values: readonly number[], log: boolean): string[] {
  const least = Math.min(...values.slice(1).map((value, at) => value - (values[at] as number)));
  const between = Number.isFinite(least) && least > 0 ? least : undefined;
  if (kind === "wall") return clockTexts(values, between ?? 1);
  // Each tick of a log axis is rounded separately.
  if (kind === "relative") return values.map((value) => durationText(value, log || !between ? unitOf(value) : between));
  return values.map((value) => axisNumber(value, log || !between ? value || 1 : between));
}

/** The largest unit that a duration has a whole number of. */
function unitOf(seconds: number): number {
  return [DAY, HOUR, MINUTE, 1].find((unit) => seconds % unit === 0) ?? Math.abs(seconds);
}

function durationText(value: number, increment: number): string {
  const seconds = Math.abs(value);
  if (seconds === 0) return "0";
  const sign = value < 0 ? "−" : "";
  const digits = increment < 1 ? digitsOf(increment) : 0;
  const two = (part: number, behind = 0): string => part.toFixed(behind).padStart(behind ? behind + 3 : 2, "0");
  const [days, hours, minutes] = [DAY, HOUR, MINUTE].map((unit) => Math.floor(seconds / unit)) as [
    number,
    number,
    number,
  ];
  if (increment % DAY === 0) return `${sign}${days} d`;
  if (increment % HOUR === 0)
    return `${sign}${[days ? `${days} d` : "", hours % 24 ? `${hours % 24} h` : ""].filter(Boolean).join(" ")}`;
  if (increment % MINUTE === 0 && !hours) return `${sign}${minutes} min`;
  if (!minutes) return `${sign}${seconds.toFixed(digits)} s`;
  const rest = two(seconds % MINUTE, digits);
  return sign + (hours ? `${hours}:${two(minutes % 60)}:${rest}` : `${minutes}:${rest}`);
}

const formats = new Map<string, Intl.DateTimeFormat>(); // making one takes longer than its work

function formatted(moment: Date, options: Intl.DateTimeFormatOptions): string {
  const key = JSON.stringify(options);
  const format = formats.get(key) ?? new Intl.DateTimeFormat(undefined, options);
  formats.set(key, format);
  return format.format(moment);
}

/** The time of day, and below it the date where that is another one than before; from days on the date and the year. */
function clockTexts(values: readonly number[], increment: number): string[] {
  const isDays = increment >= DAY;
  const thisYear = new Date().getFullYear();
  let before = "";
  return values.map((value) => {
    const moment = new Date(value * 1000);
    const year = moment.getFullYear();
    const day = formatted(moment, { month: "short", day: "numeric" });
    const whole = year === thisYear ? day : formatted(moment, { year: "numeric", month: "short", day: "numeric" });
    const below = isDays ? String(year) : whole;
    const text = isDays ? day : clockText(moment, increment);
    const out = below === before ? text : `${text}\n${below}`;
    before = below;
    return out;
  });
}

function clockText(moment: Date, increment: number): string {
  const time: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  if (increment % MINUTE === 0) return formatted(moment, time);
  if (increment >= 1) return formatted(moment, { ...time, second: "2-digit" });
  // Ticks are hardly wider apart than a time with one digit behind the point. The clocks of browsers have three.
  const digits = Math.min(3, Math.max(1, digitsOf(increment))) as 1 | 2 | 3;
  return formatted(moment, { ...time, second: "2-digit", fractionalSecondDigits: digits });
}

/** How many digits behind the point an increment needs: 2 for 0.25. */
function digitsOf(increment: number): number {
  for (let digits = 0; digits < 10; digits++) {
    const scaled = Math.abs(increment) * 10 ** digits;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * Math.max(1, scaled)) return digits;
  }
  return 10;
}
