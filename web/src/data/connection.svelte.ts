// SPDX-License-Identifier: Apache-2.0
// Whether the server answers. While it does not, it is asked for a sign of life, and views look again when it is back.
import { BASE } from "../model/routes";
import { PREFIX } from "./address";

export type State = "well" | "lost" | "login";

const FIRST_PAUSE = 500; // milliseconds between two signs of life that are asked for; it grows
const LONGEST_PAUSE = 8000;
const STEADY = 30_000; // who is lost again before was not really back, and is not asked as often

export class Connection {
  state = $state<State>("well");
  /** Counts how often the server came back: what depends on it looks again. */
  returns = $state(0);
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pause = FIRST_PAUSE;
  private returned = -Infinity;

  /**
   * Something was answered: probably the server is back, which a sign of life confirms now instead of later. Not where the
   * last return was short: while only some requests fail, those that succeed would make views ask in a loop.
   */
  answered(): void {
    if (this.state !== "lost" || this.timer === undefined || Date.now() - this.returned <= STEADY) return;
    clearTimeout(this.timer);
    void this.knock();
  }

  /** Something is silent that should not be: whether the server is, a sign of life tells. */
  doubt(): void {
    if (this.state === "well" && this.timer === undefined) void this.knock();
  }

  /** Somebody has logged in meanwhile, perhaps in another tab. */
  async lookForLogin(): Promise<void> {
    if (this.state !== "login") return;
    const answer = await fetch(`${PREFIX}/info`, { cache: "no-store" }).catch(() => undefined);
    if (answer?.ok) this.goOn();
  }

  /** As after a load of the page. */
  reset(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.state = "well";
    [this.pause, this.returned] = [FIRST_PAUSE, -Infinity];
  }

  private goOn(): void {
    this.state = "well";
    this.returned = Date.now();
    this.returns += 1;
  }

  loginNeeded(): void {
    this.state = "login";
  }

  lost(): void {
    if (this.state === "login") return;
    if (this.state === "well" && Date.now() - this.returned > STEADY) this.pause = FIRST_PAUSE;
    this.state = "lost";
    if (this.timer !== undefined) return;
    this.timer = setTimeout(() => void this.knock(), this.pause);
    this.pause = Math.min(this.pause * 1.6, LONGEST_PAUSE);
  }

  private async knock(): Promise<void> {
    this.timer = undefined;
    try {
      const answer = await fetch(`${BASE}/healthz`, { cache: "no-store" });
      if (!answer.ok) this.lost();
      else if (this.state === "lost") this.goOn();
    } catch {
      this.lost();
    }
  }
}

export const connection = new Connection();
