// SPDX-License-Identifier: Apache-2.0
// What a comparison begins with, as one question: its runs, the tags that they share, the curves of its first charts.
import { needsMeans, pointsFor } from "../../charts/panel/chart_settings";
import type { Query } from "../../data/address";
import { numbersWhere, pageQuery } from "../../data/run_queries";
import type { COMPARE_VIEW } from "../../model/compare_view";
import type { StateOf } from "../../model/query_codec";
import { parseNumbers } from "../../model/run_numbers";

const MOST_RUNS = 250;
const ROWS = 2; // of charts: as many as the first frame has, the others are asked for after it
const NARROW = 760; // pixels; charts stand below each other there

/** Nothing where the runs are not to be had by one question. */
export function openingQuery(workspace: string, now: StateOf<typeof COMPARE_VIEW>): Query | undefined {
  const numbers = parseNumbers(now.runs);
  const runs = now.runs ? numbers.length : Math.max(now.first, 1);
  if (!runs || runs > MOST_RUNS || now.shown.length) return undefined;
  const list = now.runs ? { where: numbersWhere(numbers), sort: "-number" } : { where: now.where, sort: now.sort };
  // Other charts need other points, which they ask for themselves.
  const isPlain = now.tab === "charts" && !now.zoom && !now.tags && !now.derived.length && now.x !== "metric";
  return {
    ...pageQuery({ workspace, bin: false, ...list }, { limit: runs }),
    hidden: now.hidden.filter((number) => /^\d{1,15}$/.test(number)),
    tag: isPlain ? now.pinned : [],
    charts: isPlain ? String(ROWS * (innerWidth < NARROW ? 1 : now.columns)) : "0",
    points: pointsFor(runs, now.smoothing !== "none"),
    means: needsMeans(now),
  };
}
