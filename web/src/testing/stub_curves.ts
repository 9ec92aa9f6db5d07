// SPDX-License-Identifier: Apache-2.0
// What a stub server says of curves: which tags runs share, and the points that a request means.
import type { Run, SharedTag, SharedTags } from "../model/wire";
import type { PlainCurve } from "./encoded_columns";

/** A tag of a run that holds something else than scalars. */
export interface StubMedia {
  uid: string;
  tag: string;
  kind: "image" | "audio" | "text" | "histogram";
  logdir: string;
  steps: readonly number[];
}

export function sharedTags(
  runs: readonly Run[],
  curves: readonly PlainCurve[],
  media: readonly StubMedia[],
  superseded: readonly PlainCurve[] = [],
): Required<SharedTags> {
  const tags = new Map<string, SharedTag & { uids: Set<string> }>();
  const all = [...curves.map((curve) => ({ ...curve, kind: "scalar" })), ...media];
  for (const { uid, tag, kind, logdir } of all) {
    if (!runs.some((run) => run.uid === uid)) continue;
    const known = tags.get(`${kind} ${tag}`);
    const uids = new Set(known?.uids).add(uid);
    const logdirs = [...new Set([...(known?.logdirs ?? []), logdir])].sort();
    const replaced = superseded.filter((curve) => curve.tag === tag && uids.has(curve.uid));
    const points = replaced.reduce((sum, curve) => sum + curve.values.length, 0);
    tags.set(`${kind} ${tag}`, { tag, kind, logdirs, runs: uids.size, superseded: points, other_kinds: [], uids });
  }
  const items = [...tags.values()].map(({ uids: _, ...tag }) => tag);
  items.sort((one, other) => compare(chartOrder(one.tag), chartOrder(other.tag)));
  return { items, newest: 1000, read: runs.length, wanted: runs.length, problems: [] };
}

/** The points of some runs that the query of `GET series` means. */
export function pointsOf(runs: readonly Run[], curves: readonly PlainCurve[], query: URLSearchParams): PlainCurve[] {
  const [tags, logdirs, pattern] = [query.getAll("tag"), query.getAll("logdir"), query.get("pattern")];
  const most = Number(query.get("points") ?? 1000) || Infinity;
  return runs.flatMap((run, at) => {
    const meant = curves.filter(
      ({ uid, tag, logdir }) =>
        uid === run.uid &&
        (!tags.length || tags.includes(tag)) &&
        (!logdirs.length || logdirs.includes(logdir || ".")) &&
        (pattern === null || RegExp(pattern).test(tag)),
    );
    return meant.map((curve) => downsampled(inWindow(curve, windowOf(query, at)), most));
  });
}

export function compare(one: unknown, other: unknown): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one ?? "") < String(other ?? "") ? -1 : 1;
}

/** Tags without a slash come first. */
function chartOrder(tag: string): string {
  return `${tag.includes("/") ? 1 : 0}${tag}`;
}

/** The requested part of a run, by steps or by wall times. */
type Window = (curve: PlainCurve, at: number) => boolean;

/** One window for all runs, or one for each in the order of the runs. */
function windowOf(query: URLSearchParams, at: number): Window {
  const edge = (name: string, missing: number): number => {
    const given = query.getAll(name);
    const one = given.length > 1 ? given[at] : given[0];
    return one === undefined ? missing : Number(one);
  };
  const [first, last] = [edge("from_step", -Infinity), edge("to_step", Infinity)];
  const [since, until] = [edge("since", -Infinity), edge("until", Infinity)];
  return ({ steps, walls }, place) => {
    const [step, wall] = [Number(steps[place]), walls[place] ?? 0];
    return step >= first && step <= last && wall >= since && wall <= until;
  };
}

/** The points of a window, and one on either side. */
function inWindow(curve: PlainCurve, isInside: Window): PlainCurve {
  const inside = [...curve.values.keys()].filter((at) => isInside(curve, at));
  if (inside.length === curve.values.length || !inside.length) return curve;
  const edges = [(inside[0] as number) - 1, ...inside, (inside.at(-1) as number) + 1];
  return part(
    curve,
    edges.filter((at) => at >= 0 && at < curve.values.length),
    inside.length,
  );
}

function downsampled(curve: PlainCurve, most: number): PlainCurve {
  const length = curve.values.length;
  const total = curve.total ?? length;
  if (length <= most) return { ...curve, total };
  const step = (length - 1) / (most - 1);
  return part(
    curve,
    Array.from({ length: most }, (_, at) => Math.round(at * step)),
    total,
  );
}

function part(curve: PlainCurve, places: readonly number[], total: number): PlainCurve {
  const pick = <T>(column: readonly T[]): T[] => places.map((at) => column[at] as T);
  const steps = pick(curve.steps as readonly number[]);
  return { ...curve, steps, walls: pick(curve.walls), values: pick(curve.values), total };
}
