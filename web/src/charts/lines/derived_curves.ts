// SPDX-License-Identifier: Apache-2.0
// Curves of a metric that is computed from others, run by run.
import { type Curve, metricName } from "../../model/curve";
import type { SharedTag } from "../../model/wire";
import { evaluate, metricsIn, type Node } from "./expression";
import { valueAt } from "./interpolation";

/** The tags whose curves are needed to know these names. */
export function requiredTags(node: Node, tags: readonly SharedTag[]): string[] {
  const names = metricsIn(node);
  const found = tags.filter(
    (tag) =>
      tag.kind === "scalar" &&
      names.some((name) => name === tag.tag || tag.logdirs.some((logdir) => metricName(logdir, tag.tag) === name)),
  );
  return found.map((tag) => tag.tag);
}

/** A name without a logdir is meant in each logdir for itself; with one, it is meant there. */
export function derivedCurves(node: Node, label: string, curves: readonly Curve[]): Curve[] {
  const names = metricsIn(node);
  const [first] = names;
  if (first === undefined) return [];
  const found: Curve[] = [];
  for (const uid of new Set(curves.map((curve) => curve.uid))) {
    const own = curves.filter((curve) => curve.uid === uid);
    const loose = own.filter(
      (curve) => names.includes(curve.tag) && !names.includes(metricName(curve.logdir, curve.tag)),
    );
    const logdirs = loose.length ? [...new Set(loose.map((curve) => curve.logdir))] : [""];
    for (const logdir of logdirs) {
      const meant = new Map(names.map((name) => [name, curveOf(name, logdir, own)]));
      const lead = meant.get(first);
      if (!lead || [...meant.values()].some((curve) => curve === undefined)) continue;
      const at = (name: string, step: number): number => {
        const curve = meant.get(name) as Curve;
        return valueAt(curve.steps, curve.values, step);
      };
      const { parts, ...rest } = lead;
      found.push({
        ...rest,
        logdir,
        tag: label,
        values: lead.steps.map((step) => evaluate(node, (name) => at(name, step))),
        ...(parts ? { parts: { ...parts, means: derivedMeans(node, lead, meant) } } : {}),
      });
    }
  }
  return found;
}

/** What follows from the means of each part of the first metric: the mean itself where it is a sum of metrics. */
function derivedMeans(node: Node, lead: Curve, meant: ReadonlyMap<string, Curve | undefined>): Float64Array {
  const means = new Map([...meant].map(([name, curve]) => [name, meansOver(lead.steps, curve as Curve)]));
  return lead.steps.map((_, at) => evaluate(node, (name) => means.get(name)?.[at] ?? NaN));
}

/** The mean of a curve between each of these steps and the one before. */
function meansOver(steps: Float64Array, curve: Curve): Float64Array {
  const { parts } = curve;
  if (!parts) return steps.map((step) => valueAt(curve.steps, curve.values, step));
  if (steps === curve.steps) return parts.means;
  const first = curve.steps[0] ?? Infinity;
  let part = 0;
  return steps.map((until, at) => {
    if (until < first) return NaN;
    const since = at ? (steps[at - 1] as number) : until;
    let sum = 0;
    let width = 0;
    for (; part < curve.steps.length; part++) {
      const [begin, end] = [curve.steps[part - 1] ?? first, curve.steps[part] as number];
      const common = Math.min(until, end) - Math.max(since, begin);
      const mean = parts.means[part] as number;
      if (common > 0 && Number.isFinite(mean)) {
        sum += mean * common;
        width += common;
      }
      if (end >= until) break;
    }
    return width > 0 ? sum / width : (parts.means[part] ?? NaN);
  });
}

function curveOf(name: string, logdir: string, curves: readonly Curve[]): Curve | undefined {
  return (
    curves.find((curve) => metricName(curve.logdir, curve.tag) === name) ??
    curves.find((curve) => curve.logdir === logdir && curve.tag === name)
  );
}
