// SPDX-License-Identifier: Apache-2.0
// Hyperparameters and metrics as axes: where the value of a run stands on each.
import { axisScale, axisTicks } from "../../charts/drawing/axis";
import { type Field, fieldTitle, parseField, serializeField } from "../../model/fields";
import { formatNumber } from "../../model/format";
import { cellValue } from "../../model/run_values";
import { type Run, toNumber, type WireValue } from "../../model/wire";

export interface ParameterAxis {
  id: string;
  title: string;
  field: Field;
  isLog: boolean;
  /** Texts, from bottom to top, with their places; for numbers a few round ones. */
  ticks: { at: number; text: string }[];
  /** From 0 to 1; none for a run without a value. */
  place: (run: Run) => number | undefined;
}

const MOST_OWN_TICKS = 8;
const TICKS = 6;

export function makeAxis(id: string, runs: readonly Run[]): ParameterAxis | undefined {
  const field = parseField(id);
  if (!field) return undefined;
  const values = runs.map((run) => cellValue(run, field)).filter((value) => value !== undefined && value !== null);
  const title = fieldTitle(id, field);
  const isNumeric = values.length > 0 && values.every((value) => isNumber(value, field));
  return isNumeric ? numericAxis(id, title, field, values) : textAxis(id, title, field, values);
}

function isNumber(value: WireValue, field: Field): boolean {
  return typeof value === "number" || (field.kind === "metric" && typeof value === "string");
}

function numericAxis(id: string, title: string, field: Field, values: WireValue[]): ParameterAxis {
  const numbers = values.map((value) => toNumber(value as number)).filter(Number.isFinite);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  // Values over several sizes, as learning rates are, would all stand at the bottom.
  const isLog = field.kind === "hparam" && low > 0 && high / low >= 50;
  const axis = { kind: "metric" as const, span: [low, high] as const, isLog };
  const at = high > low ? axisScale(axis, 0, 1) : () => 0.5;
  const own = [...new Set(numbers)];
  const ticks =
    own.length <= MOST_OWN_TICKS
      ? own.map((value) => ({ value, text: formatNumber(value, 3) }))
      : axisTicks(axis, TICKS);
  return {
    id,
    title,
    field,
    isLog,
    ticks: apart(ticks.map(({ value, text }) => ({ at: at(value), text }))),
    place(run) {
      const value = cellValue(run, field);
      const number = value === undefined || value === null ? NaN : toNumber(value as number);
      return Number.isFinite(number) ? at(number) : undefined;
    },
  };
}

const LEAST_GAP = 0.045;

/** Without those that would stand on top of others. */
function apart(ticks: { at: number; text: string }[]): { at: number; text: string }[] {
  const kept: { at: number; text: string }[] = [];
  for (const tick of [...ticks].sort((one, other) => one.at - other.at)) {
    if (!kept.some((one) => Math.abs(one.at - tick.at) < LEAST_GAP || one.text === tick.text)) kept.push(tick);
  }
  return kept;
}

function textAxis(id: string, title: string, field: Field, values: WireValue[]): ParameterAxis {
  const texts = [...new Set(values.map(String))].sort(new Intl.Collator(undefined, { numeric: true }).compare);
  const at = (text: string): number => (texts.length > 1 ? texts.indexOf(text) / (texts.length - 1) : 0.5);
  const shown = texts.length > 12 ? [] : texts;
  return {
    id,
    title,
    field,
    isLog: false,
    ticks: shown.map((text) => ({ at: at(text), text: text.length > 18 ? `${text.slice(0, 17)}…` : text })),
    place(run) {
      const value = cellValue(run, field);
      return value === undefined || value === null ? undefined : at(String(value));
    },
  };
}

/** Hyperparameters in which the runs differ; those that most runs have first. */
export function distinguishingHparams(runs: readonly Run[]): string[] {
  const seen = new Map<string, { values: Set<string>; runs: number }>();
  for (const run of runs) {
    for (const [name, value] of Object.entries(run.hparams)) {
      const entry = seen.get(name) ?? { values: new Set<string>(), runs: 0 };
      entry.values.add(String(value));
      entry.runs += 1;
      seen.set(name, entry);
    }
  }
  return [...seen]
    .filter(([, entry]) => entry.values.size > 1)
    .sort(([, one], [, other]) => other.runs - one.runs)
    .map(([name]) => serializeField({ kind: "hparam", name }));
}

export function metricFields(runs: readonly Run[]): string[] {
  const names = new Set(runs.flatMap((run) => Object.keys(run.metrics)));
  return [...names]
    .sort()
    .flatMap((name) => (["last", "min", "max"] as const).map((part) => serializeField({ kind: "metric", name, part })));
}
