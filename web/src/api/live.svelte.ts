// SPDX-License-Identifier: Apache-2.0
// News of the server, so that what is seen is as it is now. They arrive over one connection for the whole page.
import { addressOf } from "./address";
import { connection } from "./connection.svelte";
import { later } from "./later";

type Listener = () => void;
const PAUSE = 1000; // many news at once are one reason to look
const PATIENCE = 6000; // every stream ends after a while, and the browser comes back after two seconds
const AGAIN = 10_000; // after an answer that is no stream

export class Live {
  private listeners = new Map<Listener, string>();
  private source: EventSource | undefined;
  private due = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;
  /** The last change that views surely know: that of the first answer, then the last one that was heard. */
  private known = "";

  /** An answer that knows this change has come. */
  knows(change: string | null): void {
    this.known ||= change ?? "";
  }

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
    later(() => this.listeners.size && this.open());
    return () => {
      this.listeners.delete(listener);
      later(() => this.listeners.size || this.close()); // the next view goes on with the same stream
    };
  }

  private open(): void {
    if (this.source) return;
    const source = new EventSource(addressOf("events", { after: this.known }));
    const hear =
      (...kinds: string[]) =>
      ({ lastEventId }: MessageEvent): void => {
        this.known = lastEventId || this.known;
        this.tell(...kinds);
      };
    source.addEventListener("run", hear("run"));
    source.addEventListener("board", hear("board"));
    source.addEventListener("resync", hear("run", "board"));
    source.onopen = () => {
      this.endSilence();
      connection.answered();
      if (!this.known) this.tell("run", "board"); // nobody can say what happened before
    };
    source.onerror = () => {
      // The browser tries again by itself, but not after an answer that is no stream.
      if (source.readyState === EventSource.CLOSED) this.openAgain();
      else this.silence ??= setTimeout(() => this.doubt(), PATIENCE);
    };
    this.source = source;
  }

  private openAgain(): void {
    this.close();
    connection.doubt();
    setTimeout(() => this.listeners.size && this.open(), AGAIN);
  }

  private doubt(): void {
    this.endSilence();
    connection.doubt();
  }

  private endSilence(): void {
    clearTimeout(this.silence);
    this.silence = undefined;
  }

  private close(): void {
    this.endSilence();
    this.source?.close();
    this.source = undefined;
  }

  private tell(...kinds: string[]): void {
    for (const kind of kinds) this.due.add(kind);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const due = this.due;
      this.due = new Set();
      for (const [listener, wanted] of this.listeners) if (due.has(wanted)) listener();
    }, PAUSE);
  }
}

export const live = new Live();
