// SPDX-License-Identifier: Apache-2.0
// Points of one tag of one logdir of one run, and lines as they are drawn.

/** For each point of a reduced curve the mean of the finite values since the point before, and how many these are. */
export interface Parts {
  means: Float64Array;
  counts: Float64Array;
}

export interface Curve {
  run: number;
  uid: string;
  logdir: string;
  tag: string;
  /** How many points there are; more than are here where they were reduced for the screen. */
  total: number;
  /** Steps beyond 2^53, which are not exact as plain numbers. */
  exact?: BigInt64Array;
  steps: Float64Array;
  walls: Float64Array;
  values: Float64Array;
  /** Where it was reduced and they were asked for. */
  parts?: Parts;
  /** When its first point was logged, where only a later part is here. */
  first?: number;
  /** Later attempts replaced its points. */
  isSuperseded?: boolean;
}

/** From when on its time is counted: when the run started, as far as anybody knows. */
export function startOf(curve: Curve, started: number): number {
  return Math.min(started, curve.first ?? curve.walls[0] ?? started);
}

export interface Line {
  /** Told apart by this: uid and logdir of a run, or the value of a group. */
  key: string;
  /** The run that it belongs to; empty for groups. */
  uid: string;
  label: string;
  colour: string;
  dash: readonly number[];
  xs: Float64Array;
  ys: Float64Array;
  /** The same before it was smoothed. */
  raw?: { xs: Float64Array; ys: Float64Array };
  /** From least to most of what one drawn point stands for. */
  band?: { low: Float64Array; high: Float64Array };
  /** How many runs a point of a group stands for. */
  counts?: Float64Array;
  /** Places of values that are no numbers. */
  marks: { x: number; kind: "NaN" | "∞" | "−∞" }[];
  /** For each x the exact step, where steps go beyond 2^53; x then counts from `base`. */
  exact?: BigInt64Array;
  base?: bigint;
  walls?: Float64Array;
  total: number;
  /** Drawn behind the others: its points were superseded. */
  isFaint?: boolean;
}

export const FAINT = 0.55; // opacity

/** Joined by a slash, as the catalog names metrics. */
export function metricName(logdir: string, tag: string): string {
  return logdir ? `${logdir}/${tag}` : tag;
}
