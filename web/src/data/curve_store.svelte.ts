// SPDX-License-Identifier: Apache-2.0
// Curves for the charts in view: requests of several charts at one moment are sent together.
import type { Curve, CurveRequest } from "../model/curve";
import { ApiError } from "../model/errors";
import { csvUrl, type CurvesQuery, curvesUrl, fetchCurves } from "./series";

interface Waiting {
  request: CurveRequest;
  done: (curves: Curve[]) => void;
  failed: (error: unknown) => void;
}

const MOST_TAGS = 24;
const MOST_LETTERS = 7500; // of one address: servers and proxies take 8 kB

const FIRST = 3; // charts that are drawn before all else is seen; more of them would hold up the first
const FRESH = 5000; // milliseconds: what no chart has taken by then is requested again

class CurveStore {
  private waiting: Waiting[] = [];
  private isPlanned = false;
  private begun = new Map<string, Curve[]>();
  private first = new Set<string>();

  /** Keep curves that have come before a chart requests them. */
  begin(request: Omit<CurveRequest, "tag">, tags: readonly string[], curves: readonly Curve[]): void {
    const begun = new Map(tags.map((tag) => [keyOf({ tag, ...request }), curves.filter((curve) => curve.tag === tag)]));
    this.begun = begun;
    this.first = new Set([...begun.keys()].slice(0, FIRST));
    setTimeout(() => begun.clear(), FRESH);
  }

  /** Whether it is of the first charts, which need not wait until the browser says that they are seen. */
  isFirst(request: CurveRequest): boolean {
    return this.first.has(keyOf(request));
  }

  /** The curves of a tag; runs that do not have it are not among them. */
  curves(request: CurveRequest): Promise<Curve[]> {
    const begun = this.begun.size ? this.begun.get(keyOf(request)) : undefined;
    if (begun) {
      this.begun.delete(keyOf(request));
      this.first.delete(keyOf(request));
      return Promise.resolve(begun);
    }
    return new Promise((done, failed) => {
      this.waiting.push({ request, done, failed });
      if (this.isPlanned) return;
      this.isPlanned = true;
      // Charts come into sight one after the other, within one turn of the browser.
      setTimeout(() => this.send());
    });
  }

  /** The URL of every point of some tags as CSV. */
  csvUrl(query: Omit<CurvesQuery, "points">): string {
    return csvUrl(query);
  }

  private send(): void {
    this.isPlanned = false;
    const groups = new Map<string, Waiting[]>();
    for (const one of this.waiting) {
      const { tag: _, ...rest } = one.request;
      const key = JSON.stringify(rest);
      groups.set(key, [...(groups.get(key) ?? []), one]);
    }
    this.waiting = [];
    for (const group of groups.values()) {
      for (const some of inParts(group)) void this.fetch(some);
    }
  }

  private async fetch(group: Waiting[]): Promise<void> {
    const first = group[0]?.request;
    if (!first) return;
    try {
      const tags = [...new Set(group.map((one) => one.request.tag))];
      const { tag: _, ...rest } = first;
      const { items } = await fetchCurves({ ...rest, tags });
      for (const one of group) one.done(items.filter((curve) => curve.tag === one.request.tag));
    } catch (error) {
      // One that is refused, such as a tag that no run has any more, must not fail the others.
      if (group.length > 1 && error instanceof ApiError && error.status >= 400 && error.status < 500)
        for (const one of group) void this.fetch([one]);
      else for (const one of group) one.failed(error);
    }
  }
}

/** As few requests about the same runs as the number of tags and the length of an address allow. */
function inParts(group: readonly Waiting[]): Waiting[][] {
  const [first] = group;
  if (!first) return [];
  const room = MOST_LETTERS - curvesUrl({ ...first.request, tags: [] }).length;
  const parts: Waiting[][] = [];
  let letters = Infinity;
  for (const one of group) {
    const more = new URLSearchParams({ tag: one.request.tag }).toString().length + 1;
    letters += more;
    const last = parts.at(-1);
    if (last && last.length < MOST_TAGS && letters <= room) last.push(one);
    else {
      parts.push([one]);
      letters = more;
    }
  }
  return parts;
}

function keyOf({ tag, runs, points, means, windows, superseded = false }: CurveRequest): string {
  return JSON.stringify([tag, runs, points, means, windows, superseded]);
}

export const curveStore = new CurveStore();
