// SPDX-License-Identifier: Apache-2.0
// What the page of a run shows: all of it stands in the address.
import { CHART_VIEW } from "../../model/compare_view";
import { choice, flag, text } from "../../model/query_codec";

export const RUN_TABS = ["overview", "charts", "console", "files", "system", "code"] as const;

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
