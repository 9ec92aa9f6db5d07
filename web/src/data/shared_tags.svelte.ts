// SPDX-License-Identifier: Apache-2.0
// The tags that the chosen runs have together.
import { type Run, type SharedTag, type SharedTags, toNumber } from "../model/wire";
import { fetchSharedTags } from "./series";

const PAUSE = 300; // milliseconds between two looks at runs that are being read
export class SharedTagList {
  tags = $state.raw<SharedTag[]>([]);
  /** How many runs have been read, of how many. */
  read = $state(0);
  wanted = $state(0);
  newest = $state<number>();
  error = $state.raw<unknown>();
  /** The runs that are known, or being asked for. */
  private of = "";
  private round = 0;

  readonly isReading = $derived(this.read < this.wanted);

  /** Begin with what is known of these runs. */
  begin(runs: readonly Run[], tags: SharedTags): void {
    if (toNumber(tags.read) < toNumber(tags.wanted)) return;
    this.round += 1;
    this.of = keyOf(runs);
    this.take(tags);
  }

  /** Read the tags of these runs; those that are known are asked for again only when `anew`. */
  async show(runs: readonly Run[], isRefresh = false): Promise<void> {
    if (keyOf(runs) === this.of && !isRefresh) return;
    const round = ++this.round;
    this.of = keyOf(runs);
    if (!isRefresh) [this.read, this.wanted] = [0, runs.length];
    if (!runs.length) return this.take({ items: [], newest: null, read: 0, wanted: 0, problems: [] });
    try {
      for (let isAll = false; !isAll;) {
        const found = await fetchSharedTags(runs.map((run) => run.number ?? run.uid));
        if (round !== this.round) return;
        this.take(found);
        isAll = this.read >= this.wanted;
        if (!isAll) await new Promise((go) => setTimeout(go, PAUSE));
        if (round !== this.round) return;
      }
    } catch (error) {
      if (round !== this.round) return;
      this.error = error;
      [this.of, this.read] = ["", this.wanted];
    }
  }

  private take({ items, newest, read, wanted, problems }: SharedTags): void {
    this.tags = items;
    this.newest = newest === null ? undefined : toNumber(newest);
    [this.read, this.wanted] = [toNumber(read), toNumber(wanted)];
    this.error = problems[0] && new Error(`${problems[0].run}: ${problems[0].message}`);
  }
}

function keyOf(runs: readonly Run[]): string {
  return runs.map((run) => run.uid).join();
}
