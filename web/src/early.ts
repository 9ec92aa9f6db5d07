// SPDX-License-Identifier: Apache-2.0
// Runs before the page is there: asks for what its first view will need, so that both arrive together.
import { askEarly } from "./api/early";
import { numbersWhere, runsAddress, tagsAddress } from "./api/run_addresses";
import { COMPARE_VIEW } from "./compare/compare_view";
import { readNumbers } from "./compare/run_numbers";
import { readState } from "./routing/query_codec";
import { routeOf } from "./routing/routes";

const MOST_RUNS = 20;

async function askForComparison(workspace: string): Promise<void> {
  const { runs, where, sort, first, hidden, tab } = readState(COMPARE_VIEW, new URLSearchParams(location.search));
  const numbers = readNumbers(runs);
  if (numbers.length > MOST_RUNS || tab !== "charts") return;
  if (numbers.length) {
    void askEarly(
      runsAddress({ workspace, where: numbersWhere(numbers), sort: "-number", bin: false }, { limit: 250 }),
    );
    for (const number of numbers) if (!hidden.includes(String(number))) void askEarly(tagsAddress(number));
    return;
  }
  const answer = await askEarly(runsAddress({ workspace, where, sort, bin: false }, { limit: Math.max(first, 1) }));
  if (!answer.ok || first > MOST_RUNS) return;
  const { items } = (await answer.clone().json()) as { items: { number?: number }[] };
  for (const { number } of items) {
    if (number !== undefined && !hidden.includes(String(number))) void askEarly(tagsAddress(number));
  }
}

const route = routeOf(location.pathname);
// What goes wrong here goes wrong again for the page, which tells it.
if (route.kind === "compare") askForComparison(route.workspace).catch(() => undefined);
