// SPDX-License-Identifier: Apache-2.0
// From curves to lines: along the chosen axis, smoothed, with bands, grouped.
import { type Curve, curveStart, type Parts } from "../../model/curve";
import { formatCount } from "../../model/format";
import { extremePlaces, reduceToBand, valuesAt } from "./bands";
import { DASHES, SUPERSEDED } from "./colours";
import { aggregateCurves, type Area, type Centre } from "./grouping";
import { valueAt } from "./interpolation";
import type { Line, XKind } from "./line";
import type { RunStyle } from "./run_styles";
import { evenParts, smooth, type Smoothing } from "./smoothing";

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
export function buildLines(
  curves: readonly Curve[],
  styles: ReadonlyMap<string, RunStyle>,
  options: LineOptions,
  along: readonly Curve[] = [],
): Line[] {
  const logdirs = [...new Set(curves.map((curve) => curve.logdir))].sort();
  const seen = curves.flatMap((curve) => {
    const look = styles.get(curve.uid);
    return look && !look.isWaiting
      ? [{ curve, look, dash: DASHES[logdirs.indexOf(curve.logdir) % DASHES.length] ?? [] }]
      : [];
  });
  const base = options.x === "step" ? baseOf(seen.map((one) => one.curve)) : undefined;
  const placed = seen.map((one) => ({ ...one, base, ...placedOn(one.curve, one.look, options.x, along, base) }));
  if (placed.some((one) => one.look.group !== undefined))
    return groupLines(
      placed.filter((one) => !one.curve.isSuperseded),
      options,
    );
  const [old, shown] = [
    placed.filter((one) => one.curve.isSuperseded),
    placed.filter((one) => !one.curve.isSuperseded),
  ];
  return [...old.map((one, at) => supersededLine(one, at, options)), ...shown.map((one) => singleLine(one, options))];
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

/** The points of a curve where they stand on the x axis. */
interface Points {
  xs: Float64Array;
  ys: Float64Array;
  walls: Float64Array;
  parts?: Parts;
  /** The steps as they are, where the axis counts from a base. */
  exact?: BigInt64Array;
}

interface Placed extends Points {
  base: bigint | undefined;
  curve: Curve;
  look: RunStyle;
  dash: readonly number[];
}

function placedOn(curve: Curve, look: RunStyle, x: XKind, along: readonly Curve[], base: bigint | undefined): Points {
  const { steps, walls } = curve;
  if (x === "step") {
    if (base === undefined) return pointsOf(steps, curve);
    const exact = curve.exact ?? BigInt64Array.from(steps, BigInt);
    return {
      ...pointsOf(
        Float64Array.from(exact, (step) => Number(step - base)),
        curve,
      ),
      exact,
    };
  }
  if (x === "wall") return sortedBy(walls, curve);
  if (x === "relative") {
    const start = curveStart(curve, look.start);
    return sortedBy(
      walls.map((wall) => wall - start),
      curve,
    );
  }
  const other =
    along.find((one) => one.uid === curve.uid && one.logdir === curve.logdir) ??
    along.find((one) => one.uid === curve.uid);
  if (!other) return { xs: new Float64Array(), ys: new Float64Array(), walls: new Float64Array() };
  return sortedBy(
    steps.map((step) => valueAt(other.steps, other.values, step)),
    curve,
  );
}

function pointsOf(xs: Float64Array, { values, walls, parts }: Curve): Points {
  return { xs, ys: values, walls, ...(parts ? { parts } : {}) };
}

/** By x; points without a place are left out. */
function sortedBy(xs: Float64Array, curve: Curve): Points {
  let isSorted = true;
  for (let at = 0; at < xs.length && isSorted; at++) {
    isSorted = Number.isFinite(xs[at]) && (at === 0 || (xs[at] as number) >= (xs[at - 1] as number));
  }
  if (isSorted) return pointsOf(xs, curve);
  const order = Array.from(xs.keys())
    .filter((at) => Number.isFinite(xs[at]))
    .sort((one, other) => (xs[one] as number) - (xs[other] as number));
  const taken = (from: Float64Array): Float64Array => Float64Array.from(order, (at) => from[at] as number);
  const { values, walls, parts } = curve;
  return {
    xs: taken(xs),
    ys: taken(values),
    walls: taken(walls),
    ...(parts ? { parts: { means: taken(parts.means), counts: taken(parts.counts) } } : {}),
  };
}

/** Where nobody knows what the points of a reduced curve stand for, all stand for as many. */
function calmed({ xs, ys, parts, curve }: Placed, { smoothing, amount }: LineOptions): Float64Array {
  const count = Math.max(1, curve.total / Math.max(1, ys.length));
  return smooth(smoothing, xs, ys, amount, parts ?? evenParts(ys, count));
}

function singleLine(one: Placed, options: LineOptions): Line {
  const { curve, look, dash, xs, ys, walls, exact } = one;
  const calm = calmed(one, options);
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
  if (!isReduced)
    return { ...out, xs, ys: calm, walls, ...(exact ? { exact } : {}), ...(isSmoothed ? { raw: { xs, ys } } : {}) };
  // A smoothed line has its extremes around it, any other goes through them.
  const around = isSmoothed ? reduceToBand(ys, options.most) : undefined;
  const places = around?.places ?? extremePlaces(ys, options.most);
  return {
    ...out,
    xs: valuesAt(xs, places),
    ys: valuesAt(calm, places),
    ...(around ? { band: { low: around.low, high: around.high } } : {}),
    walls: valuesAt(walls, places),
    ...(exact ? { exact: BigInt64Array.from(places, (at) => exact[at] as bigint) } : {}),
  };
}

/** As it was logged: several attempts have lines of their own. */
function supersededLine(one: Placed, at: number, options: LineOptions): Line {
  const line = singleLine(one, { ...options, smoothing: "none" });
  const faint = { dash: SUPERSEDED, isFaint: true, label: `${line.label} · superseded` };
  return { ...line, ...faint, key: `${line.key} superseded ${at}`, marks: [] };
}

function groupLines(placed: readonly Placed[], options: LineOptions): Line[] {
  const members = new Map<string, Placed[]>();
  for (const one of placed) {
    const key = `${one.look.group} ${one.curve.logdir}`;
    members.set(key, [...(members.get(key) ?? []), one]);
  }
  return [...members].map(([key, ones]) => {
    const [first] = ones as [Placed];
    const calm = ones.map((one) => {
      const ys = calmed(one, options);
      return { xs: one.xs, ys, ...(ys === one.ys && one.parts ? { level: one.parts.means } : {}) };
    });
    const { xs, ys, low, high, counts } = aggregateCurves(calm, options.centre, options.area);
    const name = first.curve.logdir ? `${first.look.group} · ${first.curve.logdir}` : String(first.look.group);
    return {
      key,
      uid: first.look.group ?? "",
      label: `${name} (${formatCount(ones.length, "run")})`,
      colour: first.look.colour,
      dash: first.dash,
      ...fromBase(first.base, xs),
      xs,
      ys,
      ...(options.area === "none" ? {} : { band: { low, high } }),
      counts,
      marks: marksOfAll(ones),
      total: ones.reduce((sum, one) => sum + one.curve.total, 0),
    };
  });
}

/** Steps beyond 2^53 as they are, for lines that are drawn from where these begin. */
function fromBase(base: bigint | undefined, xs: Float64Array): Pick<Line, "base" | "exact"> {
  if (base === undefined) return {};
  return { base, exact: BigInt64Array.from(xs, (x) => base + BigInt(Math.round(x))) };
}

/** Where any of them has no number, from left to right. */
function marksOfAll(placed: readonly Placed[]): Line["marks"] {
  const found = new Map(
    placed.flatMap(({ xs, ys }) => marksOf(xs, ys)).map((mark) => [`${mark.kind} ${mark.x}`, mark]),
  );
  return [...found.values()].sort((one, other) => one.x - other.x);
}

function marksOf(xs: Float64Array, ys: Float64Array): Line["marks"] {
  const found: Line["marks"] = [];
  for (let at = 0; at < ys.length; at++) {
    const y = ys[at] as number;
    if (!Number.isFinite(y)) found.push({ x: xs[at] as number, kind: Number.isNaN(y) ? "NaN" : y > 0 ? "∞" : "−∞" });
  }
  return found;
}
