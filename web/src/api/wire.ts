// SPDX-License-Identifier: Apache-2.0
// What the server tells about runs, as it stands in JSON.

/** NaN, infinities and integers beyond 2^53 stand as text. */
export type WireNumber = number | string;
export type WireValue = boolean | number | string | null;

export interface MetricPoint {
  value: WireNumber;
  step: WireNumber;
  wall_time: WireNumber;
}

export interface Metric {
  last: MetricPoint;
  min?: MetricPoint;
  max?: MetricPoint;
  count: WireNumber;
}

export interface Note {
  text: string;
  author?: string;
  written?: string;
}

export interface Attempt {
  number: number;
  status: Status;
  started?: string;
  ended?: string;
  heartbeat?: string;
  host?: string;
  exit_code?: number;
  reason?: string;
  [detail: string]: unknown;
}

export const STATUSES = [
  "created",
  "queued",
  "running",
  "preempted",
  "completed",
  "failed",
  "cancelled",
  "lost",
] as const;
export type Status = (typeof STATUSES)[number];

export interface Run {
  uid: string;
  workspace: string;
  status: Status;
  number?: number;
  name?: string;
  experiment?: string;
  experiment_number?: number;
  user?: string;
  host?: string;
  store?: string;
  created: string;
  started?: string;
  ended?: string;
  heartbeat?: string;
  exit_code?: number;
  reason?: string;
  files?: number;
  bytes?: WireNumber;
  hparams: Record<string, WireValue>;
  metrics: Record<string, Metric>;
  tags: Record<string, string>;
  notes: Note[];
  attempts: Attempt[];
  deleted?: string;
  [detail: string]: unknown;
}

export interface Page<T> {
  items: T[];
  next: string | null;
}

export interface Workspace {
  name: string;
  description?: string;
}

export interface RunsChanged {
  items: Run[];
  problems: { run: string; code: string; message: string }[];
}

export function toNumber(value: WireNumber | undefined | null): number {
  return typeof value === "number" ? value : value === undefined || value === null ? NaN : Number(value);
}

/** What a run is called where there is little room. */
export function runLabel(run: Pick<Run, "name" | "number" | "uid">): string {
  return run.name || (run.number ? `run${run.number}` : run.uid);
}
