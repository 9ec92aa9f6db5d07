// SPDX-License-Identifier: Apache-2.0
// From curves to lines: along the chosen axis, smoothed, with bands, grouped.
import type { XKind } from "../charts/axis_text";
import { banded } from "../charts/bands";
import { DASHES } from "../charts/colours";
import type { Curve, Line } from "../charts/curve";
import { grouped, type Area, type Centre } from "../charts/grouping";
import { valueAt } from "../charts/interpolation";
import { smoothed, type Smoothing } from "../charts/smoothing";
import { shownCount } from "../numbers/shown";
import type { RunLook } from "./run_looks";

export interface LineOptions {
  x: XKind;
  smoothing: Smoothing;
  amount: number;
  centre: Centre;
  area: Area;
  /** At most so many points are drawn of each line. */
  most: number;
}

/** `along` are the curves of the metric on the x axis, where there is one. */
export function linesOf(
  curves: readonly Curve[],
  looks: ReadonlyMap<string, RunLook>,
  options: LineOptions,
  along: readonly Curve[] = [],
): Line[] {
  const logdirs = [...new Set(curves.map((curve) => curve.logdir))].sort();
  const seen = curves.flatMap((curve) => {
    const look = looks.get(curve.uid);
    return look ? [{ curve, look, dash: DASHES[logdirs.indexOf(curve.logdir) % DASHES.length] ?? [] }] : [];
  });
  const base = options.x === "step" ? baseOf(seen.map((one) => one.curve)) : undefined;
  const placed = seen.map((one) => ({ ...one, base, ...placedOn(one.curve, one.look, options.x, along, base) }));
  if (!placed.some((one) => one.look.group !== undefined)) return placed.map((one) => singleLine(one, options));
  return groupLines(placed, options);
}

/** Where steps begin that cannot be told apart as plain numbers; none for all others. */
function baseOf(curves: readonly Curve[]): bigint | undefined {
  if (!curves.some((curve) => curve.exact)) return undefined;
  const firsts = curves.flatMap((curve) =>
    curve.steps.length ? [curve.exact?.[0] ?? BigInt(curve.steps[0] as number)] : [],
  );
  return firsts.reduce<bigint | undefined>(
    (least, one) => (least === undefined || one < least ? one : least),
    undefined,
  );
}

interface Placed {
  base: bigint | undefined;
  curve: Curve;
  look: RunLook;
  dash: readonly number[];
  xs: Float64Array;
  ys: Float64Array;
  walls: Float64Array;
}

function placedOn(
  curve: Curve,
  look: RunLook,
  x: XKind,
  along: readonly Curve[],
  base: bigint | undefined,
): Pick<Placed, "xs" | "ys" | "walls"> {
  const { steps, walls, values } = curve;
  if (x === "step" && base !== undefined) {
    const exact = curve.exact ?? BigInt64Array.from(steps, BigInt);
    return { xs: Float64Array.from(exact, (step) => Number(step - base)), ys: values, walls };
  }
  if (x === "step") return { xs: steps, ys: values, walls };
  if (x === "wall") return sortedBy(walls, values, walls);
  if (x === "relative") {
    const start = Math.min(look.start, walls[0] ?? look.start);
    return sortedBy(
      walls.map((wall) => wall - start),
      values,
      walls,
    );
  }
  const other =
    along.find((one) => one.uid === curve.uid && one.logdir === curve.logdir) ??
    along.find((one) => one.uid === curve.uid);
  if (!other) return { xs: new Float64Array(), ys: new Float64Array(), walls: new Float64Array() };
  return sortedBy(
    steps.map((step) => valueAt(other.steps, other.values, step)),
    values,
    walls,
  );
}

/** By x; points without a place are left out. */
function sortedBy(xs: Float64Array, ys: Float64Array, walls: Float64Array): Pick<Placed, "xs" | "ys" | "walls"> {
  let isSorted = true;
  for (let at = 0; at < xs.length && isSorted; at++) {
    isSorted = Number.isFinite(xs[at]) && (at === 0 || (xs[at] as number) >= (xs[at - 1] as number));
  }
  if (isSorted) return { xs, ys, walls };
  const order = Array.from(xs.keys())
    .filter((at) => Number.isFinite(xs[at]))
    .sort((one, other) => (xs[one] as number) - (xs[other] as number));
  const taken = (from: Float64Array): Float64Array => Float64Array.from(order, (at) => from[at] as number);
  return { xs: taken(xs), ys: taken(ys), walls: taken(walls) };
}

function singleLine(one: Placed, options: LineOptions): Line {
  const { curve, look, dash, xs, ys, walls } = one;
  const calm = smoothed(options.smoothing, xs, ys, options.amount, Math.max(1, curve.total / Math.max(1, ys.length)));
  const isSmoothed = calm !== ys;
  const isReduced = ys.length > options.most || curve.total > ys.length;
  const out = {
    key: `${curve.uid} ${curve.logdir}`,
    uid: curve.uid,
    label: curve.logdir ? `${look.label} · ${curve.logdir}` : look.label,
    colour: look.colour,
    dash,
    marks: marksOf(xs, ys),
    total: curve.total,
    ...(one.base === undefined ? {} : { base: one.base }),
  };
  if (!isReduced) {
    const exact = curve.exact && options.x === "step" ? { exact: curve.exact } : {};
    return { ...out, xs, ys: calm, walls, ...exact, ...(isSmoothed ? { raw: { xs, ys } } : {}) };
  }
  const line = banded(xs, calm, options.most);
  const rough = isSmoothed ? banded(xs, ys, options.most) : line;
  const taken = Float64Array.from(line.places, (at) => walls[at] as number);
  const exact =
    curve.exact && options.x === "step"
      ? { exact: BigInt64Array.from(line.places, (at) => (curve.exact as BigInt64Array)[at] as bigint) }
      : {};
  return { ...out, xs: line.xs, ys: line.ys, band: { low: rough.low, high: rough.high }, walls: taken, ...exact };
}

function groupLines(placed: readonly Placed[], options: LineOptions): Line[] {
  const members = new Map<string, Placed[]>();
  for (const one of placed) {
    const key = `${one.look.group} ${one.curve.logdir}`;
    members.set(key, [...(members.get(key) ?? []), one]);
  }
  return [...members].map(([key, ones]) => {
    const [first] = ones as [Placed];
    const calm = ones.map((one) => ({
      xs: one.xs,
      ys: smoothed(
        options.smoothing,
        one.xs,
        one.ys,
        options.amount,
        Math.max(1, one.curve.total / Math.max(1, one.ys.length)),
      ),
    }));
    const { xs, ys, low, high, counts } = grouped(calm, options.centre, options.area);
    const name = first.curve.logdir ? `${first.look.group} · ${first.curve.logdir}` : String(first.look.group);
    return {
      key,
      uid: first.look.group ?? "",
      label: `${name} (${shownCount(ones.length, "run")})`,
      colour: first.look.colour,
      dash: first.dash,
      xs,
      ys,
      ...(options.area === "none" ? {} : { band: { low, high } }),
      counts,
      marks: [],
      total: ones.reduce((sum, one) => sum + one.curve.total, 0),
    };
  });
}

function marksOf(xs: Float64Array, ys: Float64Array): Line["marks"] {
  const found: Line["marks"] = [];
  for (let at = 0; at < ys.length; at++) {
    const y = ys[at] as number;
    if (!Number.isFinite(y)) found.push({ x: xs[at] as number, kind: Number.isNaN(y) ? "NaN" : y > 0 ? "∞" : "−∞" });
  }
  return found;
}
