// SPDX-License-Identifier: Apache-2.0
// How each run looks in charts: its name, colour, group, and moments of its history.
import { runLabel, type Run } from "../api/wire";
import { assignColours, colour, runWish, textWish } from "../charts/colours";
import { cellValue } from "../runs/cell_values";
import { readField } from "../runs/field_names";

export interface Moment {
  /** Seconds since 1970. */
  time: number;
  label: string;
}

export interface RunLook {
  uid: string;
  number: number;
  label: string;
  colour: string;
  /** Runs with the same are drawn as one; none where nothing is grouped. */
  group: string | undefined;
  start: number;
  moments: Moment[];
}

export function runLooks(runs: readonly Run[], groupBy: string, isDark: boolean): Map<string, RunLook> {
  const groups = new Map(runs.map((run) => [run.uid, groupBy ? groupOf(run, groupBy) : undefined]));
  const wishes = runs.map((run) => {
    const group = groups.get(run.uid);
    return group === undefined ? ([run.uid, runWish(run)] as const) : ([group, textWish(group)] as const);
  });
  const colours = assignColours(new Map(wishes));
  return new Map(
    runs.map((run) => [
      run.uid,
      {
        uid: run.uid,
        number: run.number ?? 0,
        label: runLabel(run),
        colour: colour(colours.get(groups.get(run.uid) ?? run.uid) ?? 0, isDark),
        group: groups.get(run.uid),
        start: Date.parse(run.started ?? run.created) / 1000,
        moments: momentsOf(run),
      },
    ]),
  );
}

export function groupOf(run: Run, field: string): string {
  const known = readField(field);
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
