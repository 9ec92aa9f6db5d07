// SPDX-License-Identifier: Apache-2.0
// The tags that the chosen runs have together.
import { tagsOf, type TagInfo } from "../api/series";
import { toNumber, type Run } from "../api/wire";
import { metricName } from "../charts/curve";

export interface SharedTag {
  tag: string;
  kind: TagInfo["kind"];
  logdirs: string[];
  /** How many of the runs have it. */
  runs: number;
}

const AT_ONCE = 3; // a browser has six connections to a server, and the charts need theirs
/** The use of the machine, which says nothing about the training. */
export const SYSTEM = /^system(\/|$)/;

export class TagUnion {
  tags = $state.raw<SharedTag[]>([]);
  /** How many runs have been read, of how many. */
  read = $state(0);
  wanted = $state(0);
  newest = $state<number>();
  error = $state.raw<unknown>();
  private known = new Map<string, TagInfo[]>();
  private round = 0;

  readonly isReading = $derived(this.read < this.wanted);

  /** Read the tags of these runs; those that are known are asked for again only when `anew`. */
  async show(runs: readonly Run[], anew = false): Promise<void> {
    const round = ++this.round;
    const missing = runs.filter((run) => anew || !this.known.has(run.uid));
    this.wanted = runs.length;
    this.read = runs.length - (anew ? 0 : missing.length);
    this.unite(runs);
    const queue = [...missing];
    const work = async (): Promise<void> => {
      for (let run = queue.shift(); run && round === this.round; run = queue.shift()) {
        try {
          this.known.set(run.uid, await tagsOf(run.number ?? run.uid));
          this.error = undefined;
        } catch (error) {
          this.error = error;
        }
        this.read += 1;
        if (round === this.round) this.soon(runs, queue.length === 0);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    if (round === this.round) this.unite(runs);
  }

  private united = 0;

  /** Uniting is costly with many tags: not after each of a hundred runs. */
  private soon(runs: readonly Run[], isLast: boolean): void {
    const now = performance.now();
    if (!isLast && now - this.united < 250) return;
    this.united = now;
    this.unite(runs);
  }

  private unite(runs: readonly Run[]): void {
    const found = new Map<string, SharedTag & { last: string }>();
    let newest: number | undefined;
    for (const run of runs) {
      for (const info of this.known.get(run.uid) ?? []) {
        if (info.tag.startsWith("_hparams_/")) continue;
        const key = `${info.kind} ${info.tag}`;
        let tag = found.get(key);
        if (!tag) found.set(key, (tag = { tag: info.tag, kind: info.kind, logdirs: [], runs: 0, last: "" }));
        if (!tag.logdirs.includes(info.logdir)) tag.logdirs.push(info.logdir);
        if (tag.last !== run.uid) tag.runs += 1;
        tag.last = run.uid;
        const last = toNumber(info.last_wall_time);
        if (Number.isFinite(last) && !(newest !== undefined && last <= newest)) newest = last;
      }
    }
    this.newest = newest;
    const order = new Intl.Collator(undefined, { numeric: true });
    this.tags = [...found.values()].sort((one, other) => order.compare(one.tag, other.tag));
  }
}

/** All names by which a scalar can be meant in a derived metric: its tag, and with its logdir before it. */
export function scalarNames(tags: readonly SharedTag[]): string[] {
  const names = new Set<string>();
  for (const tag of tags) {
    if (tag.kind !== "scalar") continue;
    names.add(tag.tag);
    for (const logdir of tag.logdirs) names.add(metricName(logdir, tag.tag));
  }
  return [...names];
}
