// SPDX-License-Identifier: Apache-2.0
// Curves of what a zoom shows, where that is another part of each run: every run has a window of its own.
import type { Curve, CurveRequest } from "../../model/curve";
import type { Span } from "./line";
import type { RunStyle } from "./run_styles";
import { isMuchNarrower, stepWindows, wallWindows, type Windows } from "./zoom_windows";

export interface LoadedCurves {
  curves: Curve[];
  /** Of the metric on the x axis, where there is one. */
  along: Curve[];
}

/** How curves are loaded, and how many points of each. */
interface Wanted extends Pick<CurveRequest, "points" | "means"> {
  source: { curves(request: CurveRequest): Promise<Curve[]> };
}

export async function loadCurvesSinceStart(
  zoom: Span,
  whole: LoadedCurves,
  styles: ReadonlyMap<string, RunStyle>,
  wanted: Wanted,
): Promise<LoadedCurves> {
  const curves = await partsOf(whole.curves, wallWindows(zoom, whole.curves, styles), wanted);
  return { curves, along: whole.along };
}

const MOST_ROUNDS = 3;

/** Where the metric was reduced, its steps are known better with every answer. */
export async function loadCurvesAlongMetric(zoom: Span, whole: LoadedCurves, wanted: Wanted): Promise<LoadedCurves> {
  let windows = stepWindows(zoom, whole.along);
  let along = whole.along;
  for (let round = 0; round < MOST_ROUNDS && along.some(isReduced); round++) {
    along = await partsOf(whole.along, windows, { source: wanted.source, points: wanted.points * 2, means: false });
    const before = windows;
    windows = stepWindows(zoom, along);
    if (!isMuchNarrower(windows, before)) break;
  }
  return { curves: await partsOf(whole.curves, windows, wanted), along };
}

const MOST_RUNS = 60; // in one question: an address has room for that many windows

/** Each curve in the window of its run; those of which every point is here are not asked for. */
async function partsOf(
  curves: readonly Curve[],
  windows: Windows,
  { source, points, means }: Wanted,
): Promise<Curve[]> {
  const missing = new Map<string, Set<number>>();
  for (const { tag, run } of curves.filter(isReduced))
    if (windows.has(run)) missing.set(tag, (missing.get(tag) ?? new Set()).add(run));
  const requests = [...missing].flatMap(([tag, runs]) => inParts([...runs]).map((some) => ({ tag, runs: some })));
  const found = await Promise.all(
    requests.map(({ tag, runs }) =>
      source.curves({ tag, runs, points, means, windows: runs.map((run) => windows.get(run) ?? {}) }),
    ),
  );
  const parts = new Map(found.flat().map((curve) => [keyOf(curve), curve]));
  return curves.flatMap((curve) => {
    if (!isReduced(curve)) return [curve];
    const part = parts.get(keyOf(curve));
    const [first] = curve.walls;
    return part ? [first === undefined ? part : { ...part, first }] : [];
  });
}

function inParts(runs: readonly number[]): number[][] {
  const count = Math.ceil(runs.length / MOST_RUNS);
  return Array.from({ length: count }, (_, at) => runs.slice(at * MOST_RUNS, (at + 1) * MOST_RUNS));
}

function isReduced(curve: Curve): boolean {
  return curve.total > curve.values.length;
}

function keyOf({ uid, logdir, tag }: Curve): string {
  return JSON.stringify([uid, logdir, tag]);
}
