// SPDX-License-Identifier: Apache-2.0
// What stands in a cell of the table of runs: the value itself, and how it is shown.
import { COLUMN_KINDS, type Field } from "./fields";
import {
  fitNumber,
  formatAgo,
  formatBytes,
  formatDuration,
  formatNumber,
  formatTime,
  formatValue,
  formatWireNumber,
} from "./format";
import { type Run, toNumber, type WireValue } from "./wire";

export function cellValue(run: Run, field: Field): WireValue | undefined {
  switch (field.kind) {
    case "hparam":
      return run.hparams[field.name];
    case "tag":
      return run.tags[field.name];
    case "metric":
      return metricValue(run, field.name, field.part);
    case "plain":
      return plainValue(run, field.name);
  }
}

function metricValue(run: Run, name: string, part: string): WireValue | undefined {
  const metric = run.metrics[name];
  if (!metric) return undefined;
  if (part === "count") return metric.count;
  if (part === "last" || part === "min" || part === "max") return metric[part]?.value;
  if (part === "step") return metric.last.step;
  return (part === "min_step" ? metric.min : metric.max)?.step;
}

function plainValue(run: Run, name: string): WireValue | undefined {
  if (name === "duration") return runDuration(run);
  if (name === "attempts") return run.attempts.length || undefined;
  if (name === "note") return run.notes.at(-1)?.text;
  return run[name] as WireValue | undefined;
}

export function runDuration(run: Run): number | undefined {
  const until = run.ended ?? run.heartbeat;
  if (!run.started || !until) return undefined;
  return Math.max(0, (Date.parse(until) - Date.parse(run.started)) / 1000);
}

export function formatCell(run: Run, field: Field, now: number): string {
  const value = cellValue(run, field);
  if (value === undefined || value === null) return "";
  if (field.kind === "metric") return formatWireNumber(value as number | string);
  if (field.kind !== "plain") return formatValue(value);
  if (COLUMN_KINDS[field.name] === "time") return formatAgo(String(value), now);
  if (field.name === "duration") return formatDuration(toNumber(value as number));
  if (field.name === "bytes") return formatBytes(toNumber(value as number));
  return typeof value === "number" ? formatNumber(value) : String(value);
}

const DIGITS = 5;

/** As `shownCell`, with fewer digits where a number would not fit. */
export function fitCell(run: Run, field: Field, now: number, isFitting: (text: string) => boolean): string {
  const text = formatCell(run, field, now);
  return isFitting(text) || !isPlainNumber(run, field)
    ? text
    : fitNumber(Number(cellValue(run, field)), DIGITS, isFitting);
}

/** Whether a cell shows nothing but a number, which must not be cut. */
export function isPlainNumber(run: Run, field: Field): boolean {
  if (field.kind === "metric") return true;
  const hasUnit = field.kind === "plain" && (field.name === "duration" || field.name === "bytes");
  return !hasUnit && typeof cellValue(run, field) === "number";
}

/** All of it, for who rests the pointer on a cell. */
export function fullCell(run: Run, field: Field): string {
  const value = cellValue(run, field);
  if (value === undefined || value === null) return "";
  if (field.kind === "plain" && COLUMN_KINDS[field.name] === "time") return formatTime(String(value));
  if (field.kind === "plain" && field.name === "note") return run.notes.map((note) => note.text).join("\n");
  return String(value);
}

export function isNumeric(field: Field): boolean {
  return field.kind === "metric" || (field.kind === "plain" && COLUMN_KINDS[field.name] === "number");
}

/** The values of nested documents, by names that are joined by dots. */
export function flattenDetails(details: Record<string, unknown>, above = ""): [string, unknown][] {
  return Object.entries(details).flatMap(([name, value]) => {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return flattenDetails(value as Record<string, unknown>, `${above}${name}.`);
    }
    return [[`${above}${name}`, Array.isArray(value) ? value.join(", ") : value] as [string, unknown]];
  });
}
