// SPDX-License-Identifier: Apache-2.0
// Begins a comparison with the one answer that has all of it, which may have been asked for before the page was there.
import { fetchColumns } from "../../data/series";
import type { COMPARE_VIEW } from "../../model/compare_view";
import type { Curve } from "../../model/curve";
import type { StateOf } from "../../model/query_codec";
import type { Page, Run, SharedTags } from "../../model/wire";
import { openingQuery } from "./opening_query";

export interface OpeningData {
  runs: Page<Run>;
  /** Of the runs that are plotted. */
  tags: SharedTags;
  /** Tags whose curves are all here. */
  charts: string[];
  curves: Curve[];
  /** So many of each curve were asked for. */
  points: number;
  means: boolean;
}

/** Nothing where it takes several questions, or where this one cannot be answered: others will tell why. */
export async function openComparison(
  workspace: string,
  now: StateOf<typeof COMPARE_VIEW>,
): Promise<OpeningData | undefined> {
  const query = openingQuery(workspace, now);
  if (!query) return undefined;
  try {
    const { head, items } = await fetchColumns("charts", query);
    const { runs, tags, charts } = head as unknown as Pick<OpeningData, "runs" | "tags" | "charts">;
    return { runs, tags, charts, curves: items, points: Number(query["points"]), means: query["means"] === true };
  } catch {
    return undefined;
  }
}
