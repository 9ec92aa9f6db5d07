// SPDX-License-Identifier: Apache-2.0
// Whether the server answers. While it does not, it is asked for a sign of life, and views look again when it is back.
import { BASE } from "./address";

export type State = "well" | "lost" | "login";

class Connection {
  state = $state<State>("well");
  /** Counts how often the server came back: what depends on it looks again. */
  returns = $state(0);
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pause = 500;

  answered(): void {
    if (this.state === "lost") {
      this.state = "well";
      this.returns += 1;
    }
    this.pause = 500;
  }

  loginNeeded(): void {
    this.state = "login";
  }

  lost(): void {
    if (this.state === "login") return;
    this.state = "lost";
    if (this.timer !== undefined) return;
    this.timer = setTimeout(() => void this.knock(), this.pause);
    this.pause = Math.min(this.pause * 1.6, 8000);
  }

  private async knock(): Promise<void> {
    this.timer = undefined;
    try {
      const answer = await fetch(`${BASE}/healthz`, { cache: "no-store" });
      if (answer.ok) this.answered();
      else this.lost();
    } catch {
      this.lost();
    }
  }
}

export const connection = new Connection();
