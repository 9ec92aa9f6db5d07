// SPDX-License-Identifier: Apache-2.0
// What the server tells, as it stands in JSON: the types are those of the API's document.
import type { components } from "./openapi";

export type Told = components["schemas"];
/** What the server has a default for it always tells, though who asks may leave it out. */
export type Whole<T> = { [Name in keyof T]-?: Exclude<T[Name], undefined> };

/** NaN, infinities and integers beyond 2^53 stand as text. */
export type WireNumber = Told["Number"] | Told["WholeNumber"];
export type WireValue = Told["Run"]["hparams"][string];

/** Runs and attempts carry what else their documents say. */
interface Details {
  [detail: string]: unknown;
}
export type Run = Omit<Told["Run"], "attempts"> & { attempts: Attempt[] } & Details;
export type Attempt = Told["Run"]["attempts"][number] & Details;
export type Metric = Told["Run"]["metrics"][string];
export type MetricPoint = Metric["last"];
export type Status = Told["Run"]["status"];
export type Workspace = Whole<Told["Workspace"]>;

const ALL_STATUSES: Record<Status, true> = {
  created: true,
  queued: true,
  running: true,
  preempted: true,
  completed: true,
  failed: true,
  cancelled: true,
  lost: true,
};
export const STATUSES = Object.keys(ALL_STATUSES) as Status[];

export interface Page<T> {
  items: T[];
  next: string | null;
}

export interface RunsChanged {
  items: Run[];
  problems: Told["RunProblem"][];
}

export function toNumber(value: WireNumber | undefined | null): number {
  return typeof value === "number" ? value : value === undefined || value === null ? NaN : Number(value);
}

/** What a run is called where there is little room. */
export function runLabel(run: Pick<Run, "name" | "number" | "uid">): string {
  return run.name || (run.number ? `run${run.number}` : run.uid);
}
