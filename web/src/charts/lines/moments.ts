// SPDX-License-Identifier: Apache-2.0
// Attempts, notes and annotations of runs, at the place on the axis where the run was then.
import { type Curve, curveStart } from "../../model/curve";
import { formatValue } from "../../model/format";
import { type Annotation, toNumber, type WireValue } from "../../model/wire";
import { lowerBound } from "./interpolation";
import type { MomentMark, XKind } from "./line";
import type { RunStyle } from "./run_styles";

interface Moment {
  time: number | undefined;
  step?: number | string | null;
  label: string;
}

const MOST_MOMENTS = 200;
const LONGEST = 120;

export function findMoments(
  curves: readonly Curve[],
  styles: ReadonlyMap<string, RunStyle>,
  x: XKind,
  annotations: ReadonlyMap<string, readonly Annotation[]>,
  base?: bigint,
): MomentMark[] {
  if (x === "metric") return [];
  const longest = new Map<string, Curve>();
  for (const curve of curves)
    if ((longest.get(curve.uid)?.steps.length ?? 0) < curve.steps.length) longest.set(curve.uid, curve);
  const found: MomentMark[] = [];
  for (const [uid, curve] of longest) {
    const look = styles.get(uid);
    if (!look) continue;
    const mark = (moment: Moment): void => {
      const place = placeOf(moment, curve, look, x, base);
      if (place === undefined || found.length >= MOST_MOMENTS) return;
      found.push({ x: place, label: `${look.label}: ${moment.label}`, colour: look.colour });
    };
    look.moments.forEach(mark);
    annotations.get(uid)?.forEach((one) => mark(momentOf(one, curve)));
  }
  return found;
}

/** The name of an annotation and what it says. */
export function annotationText(one: Annotation): string {
  const data = Object.entries(one.data).map(([name, value]) => `${name} ${formatValue(value as WireValue)}`);
  const text = data.length ? `${one.name} (${data.join(", ")})` : one.name;
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text;
}

function momentOf(one: Annotation, curve: Curve): Moment {
  const time = one.wall_time === null ? undefined : toNumber(one.wall_time);
  // What is said after the last point belongs to the end of the run.
  const last = curve.walls.at(-1);
  const held = time !== undefined && last !== undefined ? Math.min(time, last) : time;
  return { time: one.step === null ? held : time, step: one.step, label: annotationText(one) };
}

function placeOf(moment: Moment, curve: Curve, look: RunStyle, x: XKind, base: bigint | undefined): number | undefined {
  const { steps, walls } = curve;
  if (x === "step" && moment.step !== undefined && moment.step !== null)
    return base === undefined ? toNumber(moment.step) : Number(BigInt(moment.step) - base);
  const time = moment.time;
  if (time === undefined) return undefined;
  const at = lowerBound(walls, time);
  if (at >= steps.length) return undefined;
  if (x === "wall") return time;
  if (x === "relative") return time - curveStart(curve, look.start);
  return base === undefined ? steps[at] : Number((curve.exact?.[at] ?? BigInt(steps[at] as number)) - base);
}
