// SPDX-License-Identifier: Apache-2.0
// Annotations of the plotted runs. They come behind the charts; those of a run that has ended are asked for once.
import type { Annotation, Run, Schemas } from "../model/wire";
import { fetchJson } from "./request";

const LATER = 500; // milliseconds in which the charts have the server for themselves
const AT_ONCE = 100;

export class AnnotationList {
  /** By the uid of their run. */
  byRun = $state.raw<ReadonlyMap<string, Annotation[]>>(new Map());
  private complete = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  show(runs: readonly Run[]): void {
    clearTimeout(this.timer);
    const incomplete = runs.filter((run) => !this.complete.has(run.uid));
    if (incomplete.length) this.timer = setTimeout(() => void this.read(incomplete), LATER);
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private async read(runs: readonly Run[]): Promise<void> {
    for (let at = 0; at < runs.length; at += AT_ONCE) {
      const some = runs.slice(at, at + AT_ONCE);
      try {
        this.take(some, (await fetchAnnotations(some.map((run) => run.uid))).items);
      } catch {
        return; // the charts tell what is wrong with the server
      }
    }
  }

  private take(runs: readonly Run[], items: readonly Annotation[]): void {
    for (const run of runs) if (run.ended) this.complete.add(run.uid);
    const found = new Map<string, Annotation[]>();
    for (const one of items) found.set(one.run, [...(found.get(one.run) ?? []), one]);
    const isSame = [...found].every(([uid, list]) => this.byRun.get(uid)?.length === list.length);
    // Most runs have none, and then nothing is drawn anew.
    if (!isSame) this.byRun = new Map([...this.byRun, ...found]);
  }
}

export function fetchAnnotations(uids: readonly string[]): Promise<Schemas["Annotations"]> {
  return fetchJson("annotations", { query: { run: uids } });
}
