// SPDX-License-Identifier: Apache-2.0
// Whether the server responds. While it does not, it is probed, and views load again when it is back.
import { BASE } from "../model/routes";
import { PREFIX } from "./address";

export type State = "well" | "lost" | "login";

const FIRST_PAUSE = 500; // milliseconds between two probes; it grows
const LONGEST_PAUSE = 8000;
const STEADY = 30_000; // milliseconds: a server that fails again within them was not really back, and is probed less often

export class Connection {
  state = $state<State>("well");
  /** How often the server came back: effects that depend on it load again. */
  reconnects = $state(0);
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pause = FIRST_PAUSE;
  private returned = -Infinity;

  /**
   * There was a response, so the server is probably back: probe it now. Not if it was back for a short time only:
   * while only some requests fail, those that succeed would make views load in a loop.
   */
  reportResponse(): void {
    if (this.state !== "lost" || this.timer === undefined || Date.now() - this.returned <= STEADY) return;
    clearTimeout(this.timer);
    void this.probe();
  }

  /** Probe the server: a stream is silent that should not be. */
  verify(): void {
    if (this.state === "well" && this.timer === undefined) void this.probe();
  }

  /** Go on if somebody has logged in meanwhile, perhaps in another tab. */
  async checkLogin(): Promise<void> {
    if (this.state !== "login") return;
    const answer = await fetch(`${PREFIX}/info`, { cache: "no-store" }).catch(() => undefined);
    if (answer?.ok) this.restore();
  }

  /** As after the page has been loaded. */
  reset(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.state = "well";
    [this.pause, this.returned] = [FIRST_PAUSE, -Infinity];
  }

  private restore(): void {
    this.state = "well";
    this.returned = Date.now();
    this.reconnects += 1;
  }

  requireLogin(): void {
    this.state = "login";
  }

  reportFailure(): void {
    if (this.state === "login") return;
    if (this.state === "well" && Date.now() - this.returned > STEADY) this.pause = FIRST_PAUSE;
    this.state = "lost";
    if (this.timer !== undefined) return;
    this.timer = setTimeout(() => void this.probe(), this.pause);
    this.pause = Math.min(this.pause * 1.6, LONGEST_PAUSE);
  }

  private async probe(): Promise<void> {
    this.timer = undefined;
    try {
      const answer = await fetch(`${BASE}/healthz`, { cache: "no-store" });
      if (!answer.ok) this.reportFailure();
      else if (this.state === "lost") this.restore();
    } catch {
      this.reportFailure();
    }
  }
}

export const connection = new Connection();
