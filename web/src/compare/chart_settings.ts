// SPDX-License-Identifier: Apache-2.0
// What all charts of a comparison have in common.
import type { Annotation } from "../api/annotations";
import type { Span } from "../charts/value_range";
import type { LineOptions } from "./chart_lines";
import type { RunLook } from "./run_looks";
import type { Asking } from "./series_store.svelte";
import type { SharedTag } from "./tag_union.svelte";

export interface ChartSettings {
  /** The runs that are plotted. */
  numbers: readonly number[];
  looks: ReadonlyMap<string, RunLook>;
  tags: readonly SharedTag[];
  lines: LineOptions;
  /** So many points of each curve are asked for. */
  points: number;
  window: Asking["window"];
  zoom: Span | null;
  onzoom: (zoom: Span | null) => void;
  logX: boolean;
  logY: boolean;
  outliers: boolean;
  bands: boolean;
  xmetric: string;
  height: number;
  /** What trainings said, by the uid of the run. */
  annotations: ReadonlyMap<string, readonly Annotation[]>;
  /** Changes when there is something new to ask for. */
  news: number;
}

const [LEAST_POINTS, MOST_POINTS, ALL_POINTS] = [200, 1000, 60_000];

/** Fewer for each of many curves: what is sent and drawn stays bounded. */
export function pointsFor(runs: number, isSmoothed: boolean): number {
  const fair = Math.floor(ALL_POINTS / Math.max(1, runs));
  return Math.max(LEAST_POINTS, Math.min(isSmoothed ? MOST_POINTS * 4 : MOST_POINTS, fair));
}
