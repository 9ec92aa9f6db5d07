// SPDX-License-Identifier: Apache-2.0
// News of the server, so that what is seen is as it is now. They arrive over one connection for the whole page.
import { connection } from "./connection.svelte";
import { PREFIX } from "./http";

type Listener = () => void;
const PAUSE = 1000; // many news at once are one reason to look

class Live {
  private listeners = new Map<Listener, string>();
  private source: EventSource | undefined;
  private due = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Be told that runs have changed; for as long as what is returned is not called. */
  onRuns(listener: Listener): () => void {
    return this.on("run", listener);
  }

  onBoards(listener: Listener): () => void {
    return this.on("board", listener);
  }

  /** Look again and again while something lives: points arrive more often than news of their run. */
  every(milliseconds: number, look: Listener): () => void {
    const timer = setInterval(() => !document.hidden && look(), milliseconds);
    return () => clearInterval(timer);
  }

  private on(kind: string, listener: Listener): () => void {
    this.listeners.set(listener, kind);
    this.open();
    return () => {
      this.listeners.delete(listener);
      if (!this.listeners.size) this.close();
    };
  }

  private open(): void {
    if (this.source) return;
    const source = new EventSource(`${PREFIX}/events`);
    const heard = (kind: string) => (): void => this.tell(kind);
    source.addEventListener("run", heard("run"));
    source.addEventListener("board", heard("board"));
    source.addEventListener("resync", () => {
      this.tell("run");
      this.tell("board");
    });
    source.onopen = () => connection.answered();
    source.onerror = () => {
      // The browser tries again by itself, but not after an answer that is no stream.
      if (source.readyState !== EventSource.CLOSED) return;
      this.close();
      if (this.listeners.size) setTimeout(() => this.listeners.size && this.open(), 10_000);
    };
    this.source = source;
  }

  private close(): void {
    this.source?.close();
    this.source = undefined;
  }

  private tell(kind: string): void {
    this.due.add(kind);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const due = this.due;
      this.due = new Set();
      for (const [listener, wanted] of this.listeners) if (due.has(wanted)) listener();
    }, PAUSE);
  }
}

export const live = new Live();
