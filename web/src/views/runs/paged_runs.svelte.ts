// SPDX-License-Identifier: Apache-2.0
// A list of very many runs, of which only the pages that somebody looks at are there.
import type { RunList } from "../../data/run_queries";
import { fetchRunMarks, listAllRuns, listRuns } from "../../data/runs";
import { type Run, toNumber } from "../../model/wire";

export const PAGE = 100;
const KEPT_PAGES = 60;
const SETTLE_MILLISECONDS = 40; // between two looks at which rows are seen
const MOST_REQUESTS = 3; // pages on their way: of those that fly by while somebody drags the scroll bar most are not asked for

export class PagedRuns {
  /** How many runs the list has; none before the first answer. */
  count = $state<number>();
  /** Until all are counted, `count` is that of the first page: nobody waits for the others to be found. */
  isCounted = $state(false);
  error = $state<unknown>();
  isLoading = $state(false);
  /** Grows with every page that arrives, so that what shows them looks again. */
  version = $state(0);
  /** Grows when another list is shown: another filter or order, not another look at the same. */
  lists = $state(0);
  private pages = new Map<number, Run[]>();
  private stale = new Set<number>();
  private requested = new Set<number>();
  private marks: string[] = [];
  private list: RunList | undefined;
  private columns: readonly string[] = [];
  private abort = new AbortController();
  private isWanted = false;
  private wanted: [number, number] = [0, 0];
  private settling: ReturnType<typeof setTimeout> | undefined;

  at(index: number): Run | undefined {
    void this.version;
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** Those of the first runs that have arrived. */
  first(count: number): Run[] {
    return Array.from({ length: Math.min(count, this.count ?? 0) }, (_, index) => this.at(index)).filter(
      (run) => run !== undefined,
    );
  }

  /** The runs from one row to another, whether anybody has looked at them or not; none once another list is shown. */
  async between(first: number, last: number, onprogress?: (count: number) => void): Promise<Run[]> {
    const here = Array.from({ length: last - first + 1 }, (_, at) => this.at(first + at) ?? []).flat();
    if (here.length > last - first || !this.list) return here;
    const page = Math.floor(first / PAGE);
    const { signal } = this.abort;
    const part = {
      after: this.marks[page - 1],
      most: last + 1 - page * PAGE,
      signal,
      ...(onprogress ? { onprogress } : {}),
    };
    try {
      return (await listAllRuns(this.list, this.columns, part)).slice(first - page * PAGE);
    } catch (error) {
      if (signal.aborted) return [];
      throw error;
    }
  }

  *loaded(): Iterable<Run> {
    for (const page of this.pages.values()) yield* page;
  }

  /** Show another list; what was asked for before is forgotten. */
  async show(list: RunList, columns: readonly string[]): Promise<void> {
    this.abort.abort();
    this.abort = new AbortController();
    const isOther = JSON.stringify(list) !== JSON.stringify(this.list);
    this.list = list;
    this.columns = columns.length ? columns : ["name"];
    this.requested.clear();
    if (isOther) {
      this.pages.clear();
      this.stale.clear();
      this.marks = [];
      this.isCounted = false;
      this.lists += 1;
    } else this.stale = new Set(this.pages.keys());
    await this.look();
    if (this.isWanted) await this.refresh(); // somebody asked meanwhile
  }

  /** Ask again for what is seen; it stays on the screen until the answer is there. */
  async refresh(): Promise<void> {
    if (!this.list) return;
    this.stale = new Set(this.pages.keys());
    this.isWanted = true;
    while (this.isWanted && !this.isLoading) {
      this.isWanted = false; // what happens from now on is another reason to look
      await this.look();
    }
  }

  /** These rows are seen. */
  want(first: number, last: number): void {
    this.wanted = [Math.floor(first / PAGE), Math.floor(last / PAGE)];
    this.settling ??= setTimeout(() => {
      this.settling = undefined;
      void this.fill();
    }, SETTLE_MILLISECONDS);
  }

  /** Runs as they are now, after a change. */
  put(changed: readonly Run[]): void {
    const by = new Map(changed.map((run) => [run.uid, run]));
    for (const [index, page] of this.pages) {
      this.pages.set(
        index,
        page.map((run) => by.get(run.uid) ?? run),
      );
    }
    this.version += 1;
  }

  private async look(): Promise<void> {
    const { list, abort } = this;
    if (!list) return;
    this.isLoading = true;
    try {
      const first = this.load(0, undefined, abort).then(() => {
        if (!abort.signal.aborted && !this.isCounted) this.count = this.pages.get(0)?.length ?? 0;
      });
      const [{ count: total, marks }] = await Promise.all([fetchRunMarks(list, PAGE, abort.signal), first]);
      const count = toNumber(total);
      if (abort.signal.aborted) return;
      this.marks = marks;
      this.count = count;
      this.isCounted = true;
      this.error = undefined;
      for (const index of this.pages.keys()) if (index * PAGE >= count) this.pages.delete(index);
      this.version += 1;
      await this.fill();
    } catch (error) {
      if (!abort.signal.aborted) this.error = error;
    } finally {
      if (!abort.signal.aborted) this.isLoading = false;
    }
  }

  /** The pages that are seen, then those beside them, until nothing is missing. */
  private async fill(): Promise<void> {
    const [from, to] = this.wanted;
    const { abort } = this;
    const near = Array.from({ length: to - from + 1 }, (_, at) => from + at).concat(to + 1, from - 1);
    const missing = near
      .filter((index) => this.isMissing(index))
      .slice(0, Math.max(0, MOST_REQUESTS - this.requested.size));
    if (!missing.length) return;
    try {
      await Promise.all(missing.map((index) => this.load(index, this.marks[index - 1], abort)));
      if (!abort.signal.aborted) await this.fill();
    } catch (error) {
      if (!abort.signal.aborted) this.error = error;
    }
  }

  private isMissing(index: number): boolean {
    const hasBegin = index === 0 || this.marks[index - 1] !== undefined;
    return hasBegin && !this.requested.has(index) && (!this.pages.has(index) || this.stale.has(index));
  }

  private async load(index: number, after: string | undefined, abort: AbortController): Promise<void> {
    if (!this.list) return;
    this.requested.add(index);
    try {
      const page = await listRuns(this.list, { limit: PAGE, after, columns: this.columns }, abort.signal);
      if (abort.signal.aborted) return;
      this.pages.set(index, page.items);
      this.stale.delete(index);
      this.forgetFarPages();
      this.version += 1;
    } finally {
      if (!abort.signal.aborted) this.requested.delete(index);
    }
  }

  private forgetFarPages(): void {
    const middle = (this.wanted[0] + this.wanted[1]) / 2;
    const far = [...this.pages.keys()].filter((index) => index > 0);
    far.sort((one, other) => Math.abs(other - middle) - Math.abs(one - middle));
    for (const index of far.slice(0, Math.max(0, far.length - KEPT_PAGES))) this.pages.delete(index);
  }
}
