// SPDX-License-Identifier: Apache-2.0
// What all charts of a comparison have in common.
import type { Curve, CurveRequest } from "../../model/curve";
import type { Annotation, SharedTag } from "../../model/wire";
import type { LineOptions } from "../lines/chart_lines";
import type { Span } from "../lines/line";
import type { RunStyle } from "../lines/run_styles";

/** Where charts get their curves from. */
export interface CurveSource {
  /** The curves of a tag; runs that do not have it are not among them. */
  curves(request: CurveRequest): Promise<Curve[]>;
  /** Whether it is for one of the first charts, which are drawn before the browser says that they are seen. */
  isFirst(request: CurveRequest): boolean;
  /** The URL of every point of some tags as CSV. */
  csvUrl(query: { runs: readonly number[]; tags: readonly string[] }): string;
}

/** Which tags the plotted runs have, as far as they have been read. */
export interface TagList {
  readonly tags: readonly SharedTag[];
  readonly isReading: boolean;
  readonly error: unknown;
}

export interface ChartSettings {
  source: CurveSource;
  /** The runs that are plotted. */
  numbers: readonly number[];
  styles: ReadonlyMap<string, RunStyle>;
  tags: readonly SharedTag[];
  lines: LineOptions;
  /** So many points of each curve are asked for. */
  points: number;
  /** Whether the means of what points stand for are asked for too. */
  means: boolean;
  windows: CurveRequest["windows"];
  zoom: Span | null;
  /** Whether a zoom means another part of each run, which is asked for by itself. */
  zoomsByRun: boolean;
  /** How one gets to see the points that are not there. */
  zoomHint: string;
  onzoom: (zoom: Span | null) => void;
  logX: boolean;
  logY: boolean;
  /** Charts that have the other scale. */
  rescaled: readonly string[];
  onrescale: (tag: string) => void;
  onlarge: (tag: string) => void;
  outliers: boolean;
  bands: boolean;
  /** Whether points are drawn that later attempts replaced; none where runs are grouped. */
  superseded: boolean | undefined;
  onsuperseded: () => void;
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
  const most = MOST_POINTS * (isSmoothed ? 4 : 1);
  return Math.max(LEAST_POINTS, Math.min(most, Math.floor(ALL_POINTS / Math.max(1, runs))));
}

/** Whether lines are made of more than the points that are drawn: smoothed ones, and the centres of groups. */
export function needsMeans({ smoothing, group }: { smoothing: string; group: string }): boolean {
  return smoothing !== "none" || group !== "";
}
