// SPDX-License-Identifier: Apache-2.0
// The runs of a comparison: those that are named, or the first of a filter, and which of them are plotted.
import { listRuns, orderByNumber, runsByNumber } from "../../data/runs";
import { isPlotted, type Plotted } from "../../model/plotted";
import { parseNumbers } from "../../model/run_numbers";
import type { Page, Run } from "../../model/wire";

export interface Choice extends Plotted {
  runs: string;
  where: string;
  sort: string;
}

const MOST_LISTED = 100;
const LATER = 400; // milliseconds in which the charts have the server for themselves

export class ChosenRuns {
  /** In the order of the list. */
  runs = $state.raw<Run[]>();
  error = $state.raw<unknown>();
  /** Numbers that were asked for and are not there. */
  missing = $state.raw<number[]>([]);
  /** Whether the list goes on behind these. */
  hasMore = $state(false);
  private round = 0;

  /** `begin` is the first page of these runs, where it is there already. */
  async show(workspace: string, choice: Choice, begin?: Page<Run>): Promise<void> {
    const mine = ++this.round;
    try {
      const put = (found: Run[]): void => {
        // Kept as it is when nothing has changed, so that nothing is drawn anew.
        if (mine === this.round && JSON.stringify(found) !== JSON.stringify(this.runs)) this.runs = found;
      };
      if (choice.runs) put(await this.named(workspace, choice.runs, begin));
      else await this.listed(workspace, choice, put, begin);
      if (mine === this.round) this.error = undefined;
    } catch (error) {
      if (mine === this.round) this.error = error;
    }
  }

  /** Runs as they are now, after a change. */
  put(changed: readonly Run[]): void {
    const by = new Map(changed.map((run) => [run.uid, run]));
    this.runs = this.runs?.map((run) => by.get(run.uid) ?? run);
  }

  private async named(workspace: string, text: string, begin?: Page<Run>): Promise<Run[]> {
    const numbers = parseNumbers(text);
    this.hasMore = false;
    const found = begin ? orderByNumber(numbers, begin.items) : await runsByNumber(workspace, numbers);
    const there = new Set(found.map((run) => run.number));
    this.missing = numbers.filter((number) => !there.has(number));
    return found;
  }

  /** What is plotted comes first: its charts need not wait for the names of all others. */
  private async listed(
    workspace: string,
    choice: Choice,
    put: (runs: Run[]) => void,
    begin?: Page<Run>,
  ): Promise<void> {
    this.missing = [];
    const { where, sort, first } = choice;
    const list = { workspace, where, sort, bin: false };
    const [page, shown] = await Promise.all([
      begin ?? listRuns(list, { limit: Math.max(first, 1) }),
      runsByNumber(workspace, choice.shown.map(Number).filter(Number.isInteger)),
    ]);
    const together = (items: Run[]): Run[] => {
      // By uid: in a list that lives a run can move to the next page while that is asked for.
      return [...new Map([...items, ...shown].map((run) => [run.uid, run])).values()];
    };
    const isFirst = this.runs === undefined;
    if (isFirst || !page.next) put(together(page.items));
    const missing = MOST_LISTED - page.items.length;
    if (!page.next || missing <= 0) {
      this.hasMore = page.next !== null;
      return put(together(page.items));
    }
    if (isFirst) await new Promise((go) => setTimeout(go, LATER));
    const rest = await listRuns(list, { limit: missing, after: page.next });
    this.hasMore = rest.next !== null;
    put(together([...page.items, ...rest.items]));
  }
}

/** The server tells the tags and the points of so many at once. */
export const MOST_PLOTTED = 500;

/** Those that are to be plotted, however many. */
export function plottedRuns(runs: readonly Run[], choice: Choice): Run[] {
  if (choice.runs) return runs.filter((run) => !choice.hidden.includes(String(run.number)));
  return runs.filter((run, index) => isPlotted(choice, index, run.number));
}
