// SPDX-License-Identifier: Apache-2.0
// What the page of a run shows: all of it stands in the address.
import { CHART_VIEW } from "../../model/compare_view";
import { choice, flag, text } from "../../model/query_codec";
import { SYSTEM } from "../../model/tags";
import type { Run } from "../../model/wire";

export const RUN_TABS = ["overview", "charts", "console", "files", "system", "code"] as const;

/** Whether runs of folders have something to show there. */
export function isTabOfFolders(tab: (typeof RUN_TABS)[number], run: Run | undefined): boolean {
  if (tab === "system") return Object.keys(run?.metrics ?? {}).some((name) => SYSTEM.test(name));
  return tab === "overview" || tab === "charts";
}

export const RUN_VIEW = {
  ...CHART_VIEW,
  tab: choice(RUN_TABS, "overview"),
  /** Of the console: which file, and what is looked for. */
  log: text(),
  find: text(),
  only: flag(),
  /** Of the files: what is looked for in their paths. */
  file: text(),
};
