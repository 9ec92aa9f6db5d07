// SPDX-License-Identifier: Apache-2.0
// Which part of each run a zoom means, where the axis begins elsewhere for every run.
import { type Curve, curveStart, type CurveWindow } from "../../model/curve";
import type { Span } from "./line";
import type { RunStyle } from "./run_styles";

/** By the number of the run; those that have nothing there are left out. */
export type Windows = Map<number, CurveWindow>;

/** A part of the time since the start, as wall times. */
export function wallWindows(
  [from, to]: Span,
  curves: readonly Curve[],
  styles: ReadonlyMap<string, RunStyle>,
): Windows {
  const found: Windows = new Map();
  for (const curve of curves) {
    const look = styles.get(curve.uid);
    if (!look) continue;
    const start = curveStart(curve, look.start);
    const { since = Infinity, until = -Infinity } = found.get(curve.run) ?? {};
    found.set(curve.run, { since: Math.min(since, start + from), until: Math.max(until, start + to) });
  }
  return found;
}

/** A part of the values of a metric, as the steps from the first to the last at which it may have been there. */
export function stepWindows([from, to]: Span, along: readonly Curve[]): Windows {
  const found: Windows = new Map();
  for (const { run, steps, values } of along) {
    for (let at = 0; at < steps.length; at++) {
      const here = values[at] as number;
      if (!Number.isFinite(here)) continue;
      // Of a curve that was reduced, the way between two points may lead through what neither of them is in.
      const isJoined = Number.isFinite(values[at + 1]);
      const next = isJoined ? (values[at + 1] as number) : here;
      if (Math.max(here, next) < from || Math.min(here, next) > to) continue;
      const { fromStep = Infinity, toStep = -Infinity } = found.get(run) ?? {};
      const [first, last] = [steps[at] as number, steps[isJoined ? at + 1 : at] as number];
      found.set(run, { fromStep: Math.min(fromStep, first), toStep: Math.max(toStep, last) });
    }
  }
  return found;
}

/** Whether a window of at least one run is less than half as wide as before. */
export function isMuchNarrower(windows: Windows, before: Windows): boolean {
  const width = ({ fromStep = 0, toStep = 0 }: CurveWindow): number => toStep - fromStep;
  return [...before].some(([run, window]) => width(windows.get(run) ?? {}) < width(window) / 2);
}
