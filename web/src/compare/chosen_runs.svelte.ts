// SPDX-License-Identifier: Apache-2.0
// The runs of a comparison: those that are named, or the first of a filter, and which of them are plotted.
import { listRuns, runsByNumber } from "../api/runs";
import type { Run } from "../api/wire";
import { isPlotted, type Plotted } from "../runs/plotted";
import { readNumbers } from "./run_numbers";

export interface Choice extends Plotted {
  runs: string;
  where: string;
  sort: string;
}

const MOST_LISTED = 100;

export class ChosenRuns {
  /** In the order of the list. */
  runs = $state.raw<Run[]>();
  error = $state.raw<unknown>();
  /** Numbers that were asked for and are not there. */
  missing = $state.raw<number[]>([]);
  private round = 0;

  async show(workspace: string, choice: Choice): Promise<void> {
    const mine = ++this.round;
    try {
      const found = choice.runs ? await this.named(workspace, choice.runs) : await this.listed(workspace, choice);
      if (mine !== this.round) return;
      // Kept as it is when nothing has changed, so that nothing is drawn anew.
      if (JSON.stringify(found) !== JSON.stringify(this.runs)) this.runs = found;
      this.error = undefined;
    } catch (error) {
      if (mine === this.round) this.error = error;
    }
  }

  private async named(workspace: string, text: string): Promise<Run[]> {
    const numbers = readNumbers(text);
    const found = await runsByNumber(workspace, numbers);
    const there = new Set(found.map((run) => run.number));
    this.missing = numbers.filter((number) => !there.has(number));
    return found;
  }

  private async listed(workspace: string, choice: Choice): Promise<Run[]> {
    this.missing = [];
    const limit = Math.min(1000, Math.max(choice.first, MOST_LISTED));
    const { where, sort } = choice;
    const [page, shown] = await Promise.all([
      listRuns({ workspace, where, sort, bin: false }, { limit }),
      runsByNumber(workspace, choice.shown.map(Number).filter(Number.isInteger)),
    ]);
    const known = new Set(page.items.map((run) => run.uid));
    return [...page.items, ...shown.filter((run) => !known.has(run.uid))];
  }
}

export function plottedRuns(runs: readonly Run[], choice: Choice): Run[] {
  if (choice.runs) return runs.filter((run) => !choice.hidden.includes(String(run.number)));
  return runs.filter((run, index) => isPlotted(choice, index, run.number));
}
