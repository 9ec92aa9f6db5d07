// SPDX-License-Identifier: Apache-2.0
// Loads values for a completion when typing pauses; late responses are dropped.
import { fetchFieldValues } from "../../data/runs";
import type { LoadedValues, ValueRequest } from "./completion";

const PAUSE = 120; // milliseconds
const MOST = 50;

export class ValueLoader {
  /** The newest response; it is used until there is another. */
  latest: LoadedValues | undefined;
  private requested = "";
  private timer: ReturnType<typeof setTimeout> | undefined;
  private underWay: AbortController | undefined;

  constructor(private readonly onanswer: () => void) {}

  want(workspace: string, request: ValueRequest | undefined): void {
    const key = request ? JSON.stringify(request) : "";
    if (key && key === this.requested) return;
    this.stop();
    if (!request || this.isKnown(request)) return;
    this.requested = key;
    this.timer = setTimeout(() => void this.load(workspace, request), PAUSE);
  }

  /** The completion was closed. */
  forget(): void {
    this.stop();
    this.latest = undefined;
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.underWay?.abort();
    this.requested = "";
  }

  /** Whether the last response had every value that begins like this. */
  private isKnown(request: ValueRequest): boolean {
    const { latest } = this;
    if (latest?.field !== request.field) return false;
    if (latest.prefix === request.prefix) return true;
    return latest.texts.length < MOST && request.prefix.toLowerCase().startsWith(latest.prefix.toLowerCase());
  }

  private async load(workspace: string, request: ValueRequest): Promise<void> {
    const own = (this.underWay = new AbortController());
    try {
      const found = await fetchFieldValues(workspace, { ...request, limit: MOST }, own.signal);
      if (own.signal.aborted) return;
      this.latest = { ...request, texts: found.map((one) => one.text) };
      this.onanswer();
    } catch {
      // The suggestions stay as they are; the next letter sends another request.
      if (!own.signal.aborted) this.requested = "";
    }
  }
}
