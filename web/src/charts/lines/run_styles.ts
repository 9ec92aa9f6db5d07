// SPDX-License-Identifier: Apache-2.0
// How each run is drawn in charts: its name, colour, group, and moments of its history.
import { parseField } from "../../model/fields";
import { cellValue, runDuration } from "../../model/run_values";
import { type Run, runLabel } from "../../model/wire";
import { assignRunColours, colour, groupColours } from "./colours";

export interface Moment {
  /** Seconds since 1970. */
  time: number;
  label: string;
}

export interface RunStyle {
  uid: string;
  number: number;
  label: string;
  colour: string;
  /** Runs with the same are drawn as one; none where nothing is grouped. */
  group: string | undefined;
  /** Its group is not known yet: it is not drawn among groups. */
  isWaiting?: boolean;
  start: number;
  moments: Moment[];
}

export function runStyles(runs: readonly Run[], groupBy: string, isDark: boolean): Map<string, RunStyle> {
  const groups = new Map(
    groupBy ? runs.flatMap((run) => (isWaiting(run, groupBy) ? [] : [[run.uid, groupOf(run, groupBy)]])) : [],
  );
  const keyOf = (group: string): string => `${groupBy}=${group}`;
  // In the order of their names: the first groups have the colours that differ most.
  const names = [...new Set(groups.values())].sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
  const ofGroups = groupColours.assign(new Map(names.map((group, at) => [keyOf(group), at])));
  const ofRuns = groupBy ? new Map<string, number>() : assignRunColours(runs);
  return new Map(
    runs.map((run) => {
      const group = groups.get(run.uid);
      const index = group === undefined ? ofRuns.get(run.uid) : ofGroups.get(keyOf(group));
      const look = {
        uid: run.uid,
        number: run.number ?? 0,
        label: runLabel(run),
        colour: index === undefined ? UNKNOWN : colour(index, isDark),
        group,
        ...(groupBy && group === undefined ? { isWaiting: true } : {}),
        start: Date.parse(run.started ?? run.created) / 1000,
        moments: momentsOf(run),
      };
      return [run.uid, look];
    }),
  );
}

const UNKNOWN = "#8a93a0";
const PATIENCE = 120; // seconds in which a run logs its hyperparameters, or has none

/** Whether its hyperparameters have not arrived: it has just started and will belong to another group then. */
function isWaiting(run: Run, field: string): boolean {
  const isLive = run.status === "created" || run.status === "queued" || run.status === "running";
  if (!isLive || Object.keys(run.hparams).length || parseField(field)?.kind !== "hparam") return false;
  return (runDuration(run) ?? (Date.now() - Date.parse(run.created)) / 1000) < PATIENCE;
}

function groupOf(run: Run, field: string): string {
  const known = parseField(field);
  const value = known ? cellValue(run, known) : undefined;
  // Whole, not as it is shown: values that differ in their last digit are different groups.
  return value === undefined || value === null ? "none" : String(value);
}

function momentsOf(run: Run): Moment[] {
  const attempts = run.attempts
    .slice(1)
    .flatMap((attempt) =>
      attempt.started ? [{ time: Date.parse(attempt.started) / 1000, label: `attempt ${attempt.number}` }] : [],
    );
  const notes = run.notes.flatMap((note) =>
    note.written ? [{ time: Date.parse(note.written) / 1000, label: note.text.slice(0, 80) }] : [],
  );
  return [...attempts, ...notes];
}
