// SPDX-License-Identifier: Apache-2.0
// The API's documents as they stand in JSON, with the types of its OpenAPI description.
import type { components } from "./openapi";

export type Schemas = components["schemas"];
/** Fields with a default are optional in requests, but responses always have them. */
export type WithDefaults<T> = { [Name in keyof T]-?: Exclude<T[Name], undefined> };

/** NaN, infinities and integers beyond 2^53 stand as text. */
export type WireNumber = Schemas["Number"] | Schemas["WholeNumber"];
export type WireValue = Schemas["Run"]["hparams"][string];

/** Runs and attempts carry what else their documents say. */
interface Details {
  [detail: string]: unknown;
}
export type Run = Omit<Schemas["Run"], "attempts"> & { attempts: Attempt[] } & Details;
export type Attempt = Schemas["Run"]["attempts"][number] & Details;
export type Metric = Schemas["Run"]["metrics"][string];
export type MetricPoint = Metric["last"];
export type Status = Schemas["Run"]["status"];
export type Annotation = Schemas["Annotation"];
export type RunChange = Omit<Schemas["RunChange"], "runs">;
export type FieldNames = WithDefaults<Schemas["FieldNames"]>;
export type SavedView = Schemas["SavedView"];
/** A tag that at least one of some runs has. */
export type SharedTag = WithDefaults<Schemas["SharedTag"]>;
/** In the order of their charts. */
export type SharedTags = WithDefaults<Schemas["SharedTags"]>;
export type Workspace = WithDefaults<Schemas["Workspace"]>;

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
  problems: Schemas["RunProblem"][];
}

export function toNumber(value: WireNumber | undefined | null): number {
  return typeof value === "number" ? value : value === undefined || value === null ? NaN : Number(value);
}

/** What a run is called where there is little room. */
export function runLabel(run: Pick<Run, "name" | "number" | "uid">): string {
  return run.name || (run.number ? `run${run.number}` : run.uid);
}
