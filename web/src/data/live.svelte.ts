// SPDX-License-Identifier: Apache-2.0
// Live updates: tells views that runs or boards have changed. All tabs of a browser share one stream.
import { whenIdle } from "../model/idle";
import { apiUrl } from "./address";
import { connection } from "./connection.svelte";
import { EventFeed, type FeedListener, type FeedMessage } from "./event_feed";
import type { TabMessage } from "./event_worker";

type Listener = () => void;
const PAUSE = 1000; // many news at once are one reason to look
const PATIENCE = 6000; // every stream ends after a while, and the browser comes back after two seconds

/** A place in the feed, until `leave`. */
interface Joined {
  leave(): void;
  restart(): void;
}

export class Live {
  private listeners = new Map<Listener, string>();
  private joined: Joined | undefined;
  private isHidden = false;
  private due = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;
  /** The last change that views surely know: that of the first answer, then the last one that was heard. */
  private known = "";

  constructor() {
    if (typeof document === "undefined") return;
    this.isHidden = document.hidden;
    // A page that nobody sees needs no news. It may be frozen, or kept in the back/forward cache with what it holds.
    document.addEventListener("visibilitychange", () => this.setHidden(document.hidden));
    addEventListener("pagehide", () => this.setHidden(true));
    addEventListener("pageshow", () => this.setHidden(document.hidden));
  }

  /** An answer that knows this change has come. */
  noteChange(change: string | null): void {
    this.known ||= change ?? "";
  }

  /** The login has ended: the stream must not go on with what it allowed. */
  restartStream(): void {
    this.joined?.restart();
  }

  /** Be told that runs have changed; for as long as what is returned is not called. */
  onRuns(listener: Listener): () => void {
    return this.on("run", listener);
  }

  /** Let views that show runs load again at once. */
  refresh(): void {
    for (const [listener, kind] of this.listeners) if (kind === "run") listener();
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
    whenIdle(() => this.updateSubscription());
    return () => {
      this.listeners.delete(listener);
      whenIdle(() => this.updateSubscription()); // the next view goes on with the same stream
    };
  }

  private setHidden(isHidden: boolean): void {
    this.isHidden = isHidden;
    this.updateSubscription();
  }

  /** Join the feed while somebody looks at something that lives, and leave it else. */
  private updateSubscription(): void {
    const isWanted = this.listeners.size > 0 && !this.isHidden;
    if (isWanted) this.joined ??= join(this.known, (message) => this.receive(message));
    else {
      this.clearSilence();
      this.joined?.leave();
      this.joined = undefined;
    }
  }

  private receive({ kind, id }: FeedMessage): void {
    this.known = id || this.known;
    if (kind === "open") {
      this.clearSilence();
      connection.reportResponse();
      if (!this.known) this.notify("run", "board"); // nobody can say what happened before
    } else if (kind === "closed") this.verify();
    else if (kind === "retrying") this.silence ??= setTimeout(() => this.verify(), PATIENCE);
    else this.notify(...(kind === "resync" ? ["run", "board"] : [kind]));
  }

  private verify(): void {
    this.clearSilence();
    connection.verify();
  }

  private clearSilence(): void {
    clearTimeout(this.silence);
    this.silence = undefined;
  }

  private notify(...kinds: string[]): void {
    for (const kind of kinds) this.due.add(kind);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const due = this.due;
      this.due = new Set();
      for (const [listener, wanted] of this.listeners) if (due.has(wanted)) listener();
    }, PAUSE);
  }
}

function join(after: string, listener: FeedListener): Joined {
  const address = apiUrl("events");
  if (!("SharedWorker" in globalThis)) return joinAlone(address, after, listener);
  const worker = new SharedWorker(new URL("./event_worker.ts", import.meta.url), { type: "module" });
  const send = (message: TabMessage): void => worker.port.postMessage(message);
  let alone: Joined | undefined;
  // The server may have another page by now, without the script of this one.
  worker.onerror = () => (alone ??= joinAlone(address, after, listener));
  worker.port.onmessage = ({ data }: MessageEvent<FeedMessage>) => listener(data);
  send({ kind: "join", address, after });
  return {
    leave: () => {
      worker.onerror = null;
      worker.port.onmessage = null;
      send({ kind: "leave" });
      alone?.leave();
    },
    restart: () => (alone ? alone.restart() : send({ kind: "restart" })),
  };
}

/** A stream for this tab, in browsers without shared workers: they are on phones, where one tab is seen at a time. */
function joinAlone(address: string, after: string, listener: FeedListener): Joined {
  const feed = new EventFeed(address);
  return { leave: feed.join(after, listener), restart: () => feed.restart() };
}

export const live = new Live();
