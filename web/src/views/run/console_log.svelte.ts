// SPDX-License-Identifier: Apache-2.0
// What a run printed, as far as it has been read: its end, what comes after it, and all of it where somebody searches.
import { readLog } from "../../data/files";
import { toNumber } from "../../model/wire";

const MOST_CHARACTERS = 16_000_000; // the newest are kept
const FIRST_LINES = 500;

export class ConsoleLog {
  text = $state("");
  path = $state("");
  size = $state(0);
  error = $state.raw<unknown>();
  isRead = $state(false);
  /** Whether there is text before what is here. */
  hasEarlier = $state(false);
  /** Whether that text was asked for and did not come. */
  hasFailed = $state(false);
  private next = 0;
  private round = 0;
  private isAsking = false;

  constructor(private readonly run: string) {}

  /** Begin with the end of a log; of the newest one where no path is given. */
  async begin(log: string): Promise<void> {
    const round = ++this.round;
    this.hasFailed = false;
    await this.guarded(round, async () => {
      const part = await readLog(this.run, { ...(log ? { path: log } : {}), tail: FIRST_LINES });
      if (round !== this.round) return;
      [this.text, this.path, this.hasEarlier] = [part.text, part.path, toNumber(part.offset) > 0];
      [this.next, this.size] = [toNumber(part.next), toNumber(part.size)];
    });
    if (round === this.round) this.isRead = true;
  }

  /** What was printed since; whether there was anything. */
  async more(): Promise<boolean> {
    if (this.isAsking || !this.path) return false;
    const { round, next } = this;
    await this.guarded(round, async () => {
      const part = await readLog(this.run, { path: this.path, offset: this.next });
      if (round !== this.round) return;
      this.size = toNumber(part.size);
      if (toNumber(part.next) === this.next) return;
      this.next = toNumber(part.next);
      this.text = (this.text + part.text).slice(-MOST_CHARACTERS);
    });
    return this.next !== next;
  }

  /** All of it, from its beginning, or as much as a page can hold. */
  async whole(): Promise<void> {
    if (!this.hasEarlier || !this.path) return;
    const round = ++this.round;
    this.hasFailed = false;
    await this.guarded(round, async () => {
      const parts: string[] = [];
      let offset = Math.max(0, this.size - MOST_CHARACTERS);
      for (let isAll = false; !isAll;) {
        const part = await readLog(this.run, { path: this.path, offset });
        if (round !== this.round) return;
        parts.push(part.text);
        isAll = toNumber(part.next) === offset || toNumber(part.next) >= toNumber(part.size);
        offset = toNumber(part.next);
        this.size = toNumber(part.size);
      }
      [this.text, this.next, this.hasEarlier] = [parts.join(""), offset, false];
    });
    if (round === this.round) this.hasFailed = this.hasEarlier;
  }

  private async guarded(round: number, reading: () => Promise<void>): Promise<void> {
    this.isAsking = true;
    try {
      await reading();
      if (round === this.round) this.error = undefined;
    } catch (failed) {
      if (round === this.round) this.error = failed;
    } finally {
      if (round === this.round) this.isAsking = false;
    }
  }
}
