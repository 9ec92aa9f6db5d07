// SPDX-License-Identifier: Apache-2.0
// The runs that a person has selected; apart from those that are plotted.
import type { Run } from "../../model/wire";

export class RunSelection {
  private by = $state.raw(new Map<string, Run>());
  readonly count = $derived(this.by.size);
  readonly runs = $derived([...this.by.values()]);
  /** How many runs have arrived of those that are to be selected, while they are loaded. */
  loading = $state<number>();

  has(run: Run): boolean {
    return this.by.has(run.uid);
  }

  /** Select runs behind those that are selected already; `moved` is one that takes its place among them. */
  add(runs: readonly Run[], moved?: Run): void {
    const before = [...this.by].filter(([uid]) => uid !== moved?.uid);
    this.by = new Map([...before, ...runs.map((run) => [run.uid, run] as const)]);
  }

  toggle(run: Run): void {
    const next = new Map(this.by);
    if (!next.delete(run.uid)) next.set(run.uid, run);
    this.by = next;
  }

  /** Runs as they are now, after a change. */
  put(changed: readonly Run[]): void {
    const next = new Map(this.by);
    for (const run of changed) if (next.has(run.uid)) next.set(run.uid, run);
    this.by = next;
  }

  clear(): void {
    this.by = new Map();
  }
}
