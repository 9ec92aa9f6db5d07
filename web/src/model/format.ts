// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes, times and durations as people read them.
import type { WireNumber, WireValue } from "./wire";

/** A number in few characters that says what matters; `digits` are those that count. */
export function formatNumber(value: number, digits = 5): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e12) return minus(String(value)); // steps and seeds are read digit by digit
  if (size >= 1e7 || size < 1e-4) return exponential(value, Math.min(digits - 1, 3));
  const text = Number(value.toPrecision(digits)).toString();
  return minus(text);
}

/** A number with as many digits as fit; never a part of its digits, which would be another number. */
export function fitNumber(value: number, digits: number, isFitting: (text: string) => boolean): string {
  const usual = formatNumber(value, digits);
  if (isFitting(usual) || !Number.isFinite(value)) return usual;
  for (let fewer = digits - 1; fewer > 0; fewer--) {
    const short = [formatNumber(Number(value.toPrecision(fewer)), fewer), exponential(value, fewer - 1)];
    const text = short.find(isFitting);
    if (text !== undefined) return text;
  }
  return exponential(value, 0);
}

function exponential(value: number, digits: number): string {
  return minus(value.toExponential(digits).replace(/\.?0+e/, "e")).replace("e+", "e");
}

function minus(text: string): string {
  return text.startsWith("-") ? `−${text.slice(1)}` : text;
}

/** A value of a document; long integers stand as text there and are shown digit by digit. */
export function formatValue(value: WireValue | undefined): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return formatNumber(value, 6);
  return String(value);
}

export function formatWireNumber(value: WireNumber | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "string" && /^-?\d+$/.test(value)) return value;
  return formatNumber(Number(value), 5);
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function formatBytes(size: number): string {
  if (!Number.isFinite(size)) return "";
  let unit = 0;
  let rest = size;
  while (rest >= 1024 && unit < UNITS.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? rest : rest.toFixed(rest < 10 ? 1 : 0)} ${UNITS[unit]}`;
}

export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return "";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? Number(seconds.toFixed(1)) : Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  const [days, hours, minutes, rest] = [
    Math.floor(whole / 86400),
    Math.floor((whole % 86400) / 3600),
    Math.floor((whole % 3600) / 60),
    whole % 60,
  ];
  if (days) return hours ? `${days} d ${hours} h` : `${days} d`;
  if (hours) return minutes ? `${hours} h ${minutes} min` : `${hours} h`;
  return rest ? `${minutes} min ${rest} s` : `${minutes} min`;
}

export function formatAgo(time: string | undefined, now: number): string {
  if (!time) return "";
  const seconds = (now - Date.parse(time)) / 1000;
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${Math.round(seconds)} s ago`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.round(seconds / 3600)} h ago`;
  if (seconds < 86400 * 14) return `${Math.round(seconds / 86400)} d ago`;
  return formatDay(time);
}

let days: Intl.DateTimeFormat | undefined; // made when it is needed, and once: that takes longer than its work

export function formatDay(time: string): string {
  const moment = Date.parse(time);
  if (Number.isNaN(moment)) return time;
  days ??= new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric" });
  return days.format(moment);
}

export function formatTime(time: string | undefined): string {
  if (!time) return "";
  return new Date(time).toLocaleString(undefined, {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
}

export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
