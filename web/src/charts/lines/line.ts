// SPDX-License-Identifier: Apache-2.0
// Lines, axes and marks as charts draw them.

export type XKind = "step" | "relative" | "wall" | "metric";

export type Span = readonly [number, number];

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

export interface MomentMark {
  x: number;
  label: string;
  colour: string;
}
