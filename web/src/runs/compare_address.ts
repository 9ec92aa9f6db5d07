// SPDX-License-Identifier: Apache-2.0
// The address of the comparison of what is selected, or of what is plotted when nothing is.
import type { Run } from "../api/wire";
import { COMPARE_VIEW } from "../compare/compare_view";
import { writtenNumbers } from "../compare/run_numbers";
import { readState, writeState } from "../routing/query_codec";
import { pathTo } from "../routing/routes";
import type { Plotted } from "./plotted";

export function compareAddress(
  workspace: string,
  view: Plotted & { where: string; sort: string },
  picked: readonly Run[],
): string {
  const usual = readState(COMPARE_VIEW, new URLSearchParams());
  const numbers = picked.flatMap((run) => run.number ?? []);
  const { where, sort, first, shown, hidden } = view;
  const state = numbers.length ? { runs: writtenNumbers(numbers) } : { where, sort, first, shown, hidden };
  const query = writeState(COMPARE_VIEW, { ...usual, ...state }).toString();
  return pathTo(workspace, "compare") + (query ? `?${query}` : "");
}
