// SPDX-License-Identifier: Apache-2.0
// Runs: asked for, counted, changed.
import { ApiError, describeError } from "../model/errors";
import { EVERYWHERE } from "../model/routes";
import type { FieldNames, Page, Run, RunChange, RunsChanged, Schemas, Workspace } from "../model/wire";
import { fetchJson } from "./request";
import { listQuery, numbersWhere, pageQuery, type RunList, type RunPageOptions } from "./run_queries";

/** Where the pages of a list begin, so that any of them can be asked for. */
export type RunMarks = Schemas["RunMarks"];

export function listRuns(list: RunList, page: RunPageOptions, signal?: AbortSignal): Promise<Page<Run>> {
  return fetchJson("runs", { query: pageQuery(list, page), ...(signal ? { signal } : {}) });
}

export function fetchRunMarks(list: RunList, every: number, signal?: AbortSignal): Promise<RunMarks> {
  return fetchJson("run-marks", {
    query: { ...listQuery(list), sort: list.sort, every },
    ...(signal ? { signal } : {}),
  });
}

const MOST_AT_ONCE = 500;

/** A part of a list: so many behind a mark, or all of them; who asks can be told how many have come. */
interface RunPart {
  after?: string | undefined;
  most?: number;
  signal?: AbortSignal;
  onprogress?: (count: number) => void;
}

/** Runs of a list, in its order, however many there are. */
export async function listAllRuns(list: RunList, columns: readonly string[], part: RunPart = {}): Promise<Run[]> {
  const { most = Infinity, signal, onprogress } = part;
  const found: Run[] = [];
  for (let after: string | null | undefined = part.after; after !== null && found.length < most;) {
    const limit = Math.min(MOST_AT_ONCE, most - found.length);
    const page: Page<Run> = await listRuns(list, { limit, after, columns }, signal);
    found.push(...page.items);
    onprogress?.(found.length);
    after = page.next || null;
  }
  return found;
}

/** Runs by their numbers, in that order; those that are not there are left out. */
export async function runsByNumber(workspace: string, numbers: readonly number[]): Promise<Run[]> {
  const found: Run[] = [];
  for (let at = 0; at < numbers.length; at += 250) {
    const where = numbersWhere(numbers.slice(at, at + 250));
    const page = await listRuns({ workspace, where, sort: "-number", bin: false }, { limit: 250 });
    found.push(...page.items);
  }
  return orderByNumber(numbers, found);
}

export function orderByNumber(numbers: readonly number[], runs: readonly Run[]): Run[] {
  const found = new Map(runs.map((run) => [run.number, run]));
  return numbers.flatMap((number) => found.get(number) ?? []);
}

export function getRun(name: string): Promise<Run> {
  return fetchJson(`runs/${encodeTwice(name)}`);
}

/** Runs with all that is known of them, and why one cannot be told; it fails where none can. */
export async function getRuns(runs: readonly Run[]): Promise<{ runs: Run[]; error?: unknown }> {
  const answers = await Promise.allSettled(runs.map((run) => getRun(run.uid)));
  const found = answers.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = answers.find((one) => one.status === "rejected");
  if (failed && !found.length) throw failed.reason;
  return { runs: found, error: failed?.reason };
}

export function changeRuns(runs: readonly Run[], change: RunChange): Promise<RunsChanged> {
  return inBatches(runs, (uids) => fetchJson("runs", { method: "PATCH", body: { runs: uids, ...change } }));
}

export function deleteRuns(runs: readonly Run[]): Promise<RunsChanged> {
  return inBatches(runs, (uids) => fetchJson("runs/delete", { method: "POST", body: { runs: uids } }));
}

export function restoreRuns(runs: readonly Run[]): Promise<RunsChanged> {
  return inBatches(runs, (uids) => fetchJson("runs/restore", { method: "POST", body: { runs: uids } }));
}

/** Requests have a size limit. When a later one fails, the changes of the earlier ones are still reported. */
async function inBatches(runs: readonly Run[], act: (uids: string[]) => Promise<RunsChanged>): Promise<RunsChanged> {
  const done: RunsChanged = { items: [], problems: [] };
  for (let at = 0; at < runs.length; at += MOST_AT_ONCE) {
    const uids = runs.slice(at, at + MOST_AT_ONCE).map((run) => run.uid);
    try {
      const { items, problems } = await act(uids);
      done.items.push(...items);
      done.problems.push(...problems);
    } catch (error) {
      if (at === 0) throw error;
      const code = error instanceof ApiError ? error.code : "";
      done.problems.push({ run: `${runs.length - at} runs`, code, message: describeError(error).message });
      break;
    }
  }
  return done;
}

export function fetchFieldNames(workspace: string): Promise<FieldNames> {
  return fetchJson("fields", { query: { workspace: workspace === EVERYWHERE ? undefined : workspace } });
}

export type FieldValue = Schemas["FieldValue"];

/** Values that runs have in a field, as a filter writes them, the most frequent first. */
export async function fetchFieldValues(
  workspace: string,
  request: { field: string; prefix: string; limit: number },
  signal: AbortSignal,
): Promise<readonly FieldValue[]> {
  const query = { ...request, workspace: workspace === EVERYWHERE ? undefined : workspace };
  return (await fetchJson<Schemas["FieldValues"]>("field-values", { query, signal })).items;
}

export async function listWorkspaces(): Promise<Workspace[]> {
  return (await fetchJson<Page<Workspace>>("workspaces")).items;
}

/** A name in a path. A slash in it is escaped twice, because paths are taken apart after the first time. */
export function encodeTwice(name: string): string {
  return encodeURIComponent(encodeURIComponent(name));
}
