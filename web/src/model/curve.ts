// SPDX-License-Identifier: Apache-2.0
// Points of one tag of one logdir of one run, and requests for them.

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
export function curveStart(curve: Curve, started: number): number {
  return Math.min(started, curve.first ?? curve.walls[0] ?? started);
}

/** Joined by a slash, as the catalog names metrics. */
export function metricName(logdir: string, tag: string): string {
  return logdir ? `${logdir}/${tag}` : tag;
}

/** A part of a curve, by steps or by seconds since 1970. */
export interface CurveWindow {
  fromStep?: number;
  toStep?: number;
  since?: number;
  until?: number;
}

export interface CurveRequest {
  tag: string;
  runs: readonly number[];
  points: number;
  /** Whether points of reduced curves also tell the means of what they stand for. */
  means: boolean;
  /** As of the question to the server. */
  windows: readonly CurveWindow[];
  /** The points that later attempts replaced, instead of the newest ones. */
  superseded?: boolean;
}
