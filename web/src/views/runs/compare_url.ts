// SPDX-License-Identifier: Apache-2.0
// The address of the comparison of what is selected, or of what is plotted when nothing is.
import { COMPARE_VIEW } from "../../model/compare_view";
import type { Plotted } from "../../model/plotted";
import { readState, writeState } from "../../model/query_codec";
import { pathTo } from "../../model/routes";
import { formatNumbers } from "../../model/run_numbers";
import type { Run } from "../../model/wire";

export function compareUrl(
  workspace: string,
  view: Plotted & { where: string; sort: string },
  picked: readonly Run[],
): string {
  const usual = readState(COMPARE_VIEW, new URLSearchParams());
  const numbers = picked.flatMap((run) => run.number ?? []);
  const { where, sort, first, shown, hidden } = view;
  const state = numbers.length ? { runs: formatNumbers(numbers) } : { where, sort, first, shown, hidden };
  const query = writeState(COMPARE_VIEW, { ...usual, ...state }).toString();
  return pathTo(workspace, "compare") + (query ? `?${query}` : "");
}
