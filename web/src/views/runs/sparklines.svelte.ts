// SPDX-License-Identifier: Apache-2.0
// Small curves for the rows that are seen: asked for together, kept until the run has more to show.
import { fetchCurves } from "../../data/series";
import { type Curve, metricName } from "../../model/curve";
import type { Run } from "../../model/wire";

const POINTS = 48;
const MOST_KEPT = 4000;
const MOST_RUNS = 60;
const PAUSE = 120;
const LONGEST_PATTERN = 500; // which the server takes
const [WIDTH, HEIGHT] = [40, 16];

class Sparklines {
  private paths = $state.raw(new Map<string, string>());
  private requested = new Set<string>();
  private waiting = new Map<string, Map<number, Run>>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** The outline of a metric, empty until it has arrived. */
  path(run: Run, metric: string): string {
    const key = keyOf(run, metric);
    const known = this.paths.get(key);
    if (known !== undefined) return known;
    const count = Number(run.metrics[metric]?.count ?? 0);
    if (count > 1 && run.number !== undefined && !this.requested.has(key)) this.want(run, metric, key);
    return "";
  }

  private want(run: Run, metric: string, key: string): void {
    this.requested.add(key);
    const runs = this.waiting.get(metric) ?? new Map<number, Run>();
    runs.set(run.number as number, run);
    this.waiting.set(metric, runs);
    clearTimeout(this.timer); // rows that fly by are not worth a question
    this.timer = setTimeout(() => void this.fetch(), PAUSE);
  }

  private async fetch(): Promise<void> {
    const waiting = this.waiting;
    this.waiting = new Map();
    for (const [metric, runs] of waiting) {
      const numbers = [...runs.keys()].slice(-MOST_RUNS);
      for (const [number, run] of runs) if (!numbers.includes(number)) this.requested.delete(keyOf(run, metric));
      try {
        const found = await fetchCurves({ runs: numbers, pattern: patternOf(metric), points: POINTS });
        this.put(metric, runs, found.items);
      } catch {
        // A table without small curves is a table still; they are asked for again when it is looked at anew.
        for (const number of numbers) {
          const run = runs.get(number);
          if (run) setTimeout(() => this.requested.delete(keyOf(run, metric)), 30_000);
        }
      }
    }
  }

  private put(metric: string, runs: Map<number, Run>, curves: readonly Curve[]): void {
    const next = new Map(this.paths);
    const old = [...next.keys()].slice(0, Math.max(0, next.size - MOST_KEPT));
    for (const key of old) {
      next.delete(key);
      this.requested.delete(key);
    }
    for (const curve of curves) {
      const run = runs.get(curve.run);
      if (run && metricName(curve.logdir, curve.tag) === metric) next.set(keyOf(run, metric), outline(curve));
    }
    this.paths = next;
  }
}

/**
 * An expression for the tags that a metric may be: its name has that of a logdir before it, of any number of parts.
 * Where the server would not take it, it means all tags that end like the metric. Names of tags could be asked for
 * too, but then each of them has to be there.
 */
export function patternOf(metric: string): string {
  const parts = metric.split("/").map((part) => part.replace(/[!-.:-@[-^`{-~]/g, "\\$&"));
  const last = parts.pop() ?? "";
  const whole = `^${parts.reduce((before, part) => `(${before}${part}/)?`, "")}${last}$`;
  if (whole.length <= LONGEST_PATTERN) return whole;
  const characters = last.match(/\\?./gsu) ?? []; // an escape is not cut in two
  let end = "$";
  for (
    let one = characters.pop();
    one !== undefined && one.length + end.length <= LONGEST_PATTERN;
    one = characters.pop()
  )
    end = one + end;
  return end;
}

function keyOf(run: Run, metric: string): string {
  return `${run.uid} ${run.metrics[metric]?.count ?? ""} ${metric}`;
}

export function outline(curve: Pick<Curve, "steps" | "values">): string {
  const numbers = curve.values.filter(Number.isFinite);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const [first, last] = [curve.steps[0] ?? 0, curve.steps.at(-1) ?? 0];
  let path = "";
  let isDown = false;
  for (let at = 0; at < curve.values.length; at++) {
    const value = curve.values[at] as number;
    if (!Number.isFinite(value)) {
      isDown = false;
      continue;
    }
    const x = last > first ? (((curve.steps[at] as number) - first) / (last - first)) * WIDTH : 0;
    const y = high > low ? HEIGHT - 1.5 - ((value - low) / (high - low)) * (HEIGHT - 3) : HEIGHT / 2;
    path += `${isDown ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    isDown = true;
  }
  return path;
}

export const sparklines = new Sparklines();
