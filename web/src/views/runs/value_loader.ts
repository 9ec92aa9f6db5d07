// SPDX-License-Identifier: Apache-2.0
// Values for a completion, asked of the server when typing pauses; an answer that comes too late counts no more.
import { fetchFieldValues } from "../../data/runs";
import type { LoadedValues, ValueRequest } from "./completion";

const PAUSE = 120; // milliseconds
const MOST = 50;

export class ValueLoader {
  /** The newest answer; it stands until there is another, also for what is typed meanwhile. */
  told: LoadedValues | undefined;
  private asked = "";
  private timer: ReturnType<typeof setTimeout> | undefined;
  private underWay: AbortController | undefined;

  constructor(private readonly onanswer: () => void) {}

  want(workspace: string, asks: ValueRequest | undefined): void {
    const key = asks ? JSON.stringify(asks) : "";
    if (key && key === this.asked) return;
    this.stop();
    if (!asks || this.isKnown(asks)) return;
    this.asked = key;
    this.timer = setTimeout(() => void this.ask(workspace, asks), PAUSE);
  }

  /** Nobody completes any more: what comes next is asked for anew. */
  forget(): void {
    this.stop();
    this.told = undefined;
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.underWay?.abort();
    this.asked = "";
  }

  /** Whether the last answer had everything that begins like this. */
  private isKnown(asks: ValueRequest): boolean {
    const { told } = this;
    if (told?.field !== asks.field) return false;
    if (told.prefix === asks.prefix) return true;
    return told.texts.length < MOST && asks.prefix.toLowerCase().startsWith(told.prefix.toLowerCase());
  }

  private async ask(workspace: string, asks: ValueRequest): Promise<void> {
    const own = (this.underWay = new AbortController());
    try {
      const found = await fetchFieldValues(workspace, { ...asks, limit: MOST }, own.signal);
      if (own.signal.aborted) return;
      this.told = { ...asks, texts: found.map((one) => one.text) };
      this.onanswer();
    } catch {
      // The suggestions stay as they are; with the next letter it is asked again.
      if (!own.signal.aborted) this.asked = "";
    }
  }
}
