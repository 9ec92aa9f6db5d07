// SPDX-License-Identifier: Apache-2.0
// Curves for the charts that are seen: what several charts want at one moment is asked for at once.
import { fetchCurves, type CurvesAsked } from "../api/series";
import type { Curve } from "../charts/curve";

export interface Asking {
  tag: string;
  runs: readonly number[];
  points: number;
  window: Pick<CurvesAsked, "fromStep" | "toStep" | "since" | "until">;
}

interface Waiting {
  asking: Asking;
  done: (curves: Curve[]) => void;
  failed: (error: unknown) => void;
}

const MOST_TAGS = 24;

const FIRST = 3; // charts that are drawn before all else is seen; more of them would hold up the first
const FRESH = 5000; // milliseconds: what nobody took by then is asked for again

class SeriesStore {
  private waiting: Waiting[] = [];
  private isPlanned = false;
  private begun = new Map<string, Curve[]>();
  private first = new Set<string>();

  /** Curves that came before anybody asked. */
  begin(asking: Omit<Asking, "tag">, tags: readonly string[], curves: readonly Curve[]): void {
    const begun = new Map(tags.map((tag) => [keyOf({ tag, ...asking }), curves.filter((curve) => curve.tag === tag)]));
    this.begun = begun;
    this.first = new Set([...begun.keys()].slice(0, FIRST));
    setTimeout(() => begun.clear(), FRESH);
  }

  /** Whether it is of the first charts, which need not wait until the browser says that they are seen. */
  isFirst(asking: Asking): boolean {
    return this.first.has(keyOf(asking));
  }

  /** The curves of a tag; runs that do not have it are not among them. */
  curves(asking: Asking): Promise<Curve[]> {
    const begun = this.begun.size ? this.begun.get(keyOf(asking)) : undefined;
    if (begun) {
      this.begun.delete(keyOf(asking));
      this.first.delete(keyOf(asking));
      return Promise.resolve(begun);
    }
    return new Promise((done, failed) => {
      this.waiting.push({ asking, done, failed });
      if (this.isPlanned) return;
      this.isPlanned = true;
      // Charts come into sight one after the other, within one turn of the browser.
      setTimeout(() => this.send());
    });
  }

  private send(): void {
    this.isPlanned = false;
    const groups = new Map<string, Waiting[]>();
    for (const one of this.waiting) {
      const { tag: _, ...rest } = one.asking;
      const key = JSON.stringify(rest);
      groups.set(key, [...(groups.get(key) ?? []), one]);
    }
    this.waiting = [];
    for (const group of groups.values()) {
      for (let at = 0; at < group.length; at += MOST_TAGS) void this.fetch(group.slice(at, at + MOST_TAGS));
    }
  }

  private async fetch(group: Waiting[]): Promise<void> {
    const first = group[0]?.asking;
    if (!first) return;
    try {
      const tags = [...new Set(group.map((one) => one.asking.tag))];
      const { items } = await fetchCurves({ runs: first.runs, tags, points: first.points, ...first.window });
      for (const one of group) one.done(items.filter((curve) => curve.tag === one.asking.tag));
    } catch (error) {
      for (const one of group) one.failed(error);
    }
  }
}

function keyOf({ tag, runs, points, window }: Asking): string {
  return JSON.stringify([tag, runs, points, window]);
}

export const seriesStore = new SeriesStore();
