// SPDX-License-Identifier: Apache-2.0
// Points of runs, and which tags they have.
import type { CurveWindow } from "../model/curve";
import type { SharedTags } from "../model/wire";
import { apiUrl, type Query } from "./address";
import { COLUMNS_TYPE, type Curves, readColumns } from "./columns";
import { fetchJson, sendRequest } from "./request";

export interface CurvesQuery {
  runs: readonly (number | string)[];
  tags?: readonly string[];
  pattern?: string;
  logdirs?: readonly string[];
  /** One for all runs, or one for each in their order; those have the same kinds of edges. */
  windows?: readonly CurveWindow[];
  points: number;
  /** Whether points of reduced curves also tell the means of what they stand for. */
  means?: boolean;
  /** The points that later attempts replaced, instead of the newest ones. */
  superseded?: boolean;
}

function queryOf(query: CurvesQuery): Query {
  const { windows = [] } = query;
  return {
    run: query.runs,
    tag: query.tags,
    pattern: query.pattern,
    logdir: query.logdirs,
    from_step: windows.flatMap(({ fromStep }) => whole(fromStep, Math.floor) ?? []),
    to_step: windows.flatMap(({ toStep }) => whole(toStep, Math.ceil) ?? []),
    since: windows.flatMap(({ since }) => since ?? []),
    until: windows.flatMap(({ until }) => until ?? []),
    points: query.points,
    means: query.means,
    superseded: query.superseded || undefined,
  };
}

// Text, because a long step would be written with an exponent.
function whole(step: number | undefined, round: (value: number) => number): string | undefined {
  if (step === undefined || !Number.isFinite(step)) return undefined;
  const limit = 2n ** 63n - 1n;
  const exact = BigInt(round(step));
  return String(exact > limit ? limit : exact < -limit ? -limit : exact);
}

export function fetchCurves(query: CurvesQuery): Promise<Curves> {
  return fetchColumns("series", columnsQuery(query));
}

/** Where these curves are asked for. */
export function curvesUrl(query: CurvesQuery): string {
  return apiUrl("series", columnsQuery(query));
}

function columnsQuery(query: CurvesQuery): Query {
  return { ...queryOf(query), format: "columns" };
}

/** Curves, and what else stands in the head of the answer. */
export async function fetchColumns(path: string, query: Query): Promise<Curves> {
  const response = await sendRequest(path, { query });
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith(COLUMNS_TYPE))
    throw new Error(`the server answered with ${type || "nothing"} instead of columns`);
  return readColumns(await response.arrayBuffer());
}

/** Every point of some curves as CSV, for who wants a file. */
export function csvUrl(query: Omit<CurvesQuery, "points">): string {
  return apiUrl("series", { ...queryOf({ ...query, points: 0 }), points: "0", format: "csv" });
}

export function fetchSharedTags(runs: readonly (number | string)[]): Promise<SharedTags> {
  return fetchJson("tags", { query: { run: runs } });
}
