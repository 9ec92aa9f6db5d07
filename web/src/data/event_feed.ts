// SPDX-License-Identifier: Apache-2.0
// One stream of the server's changes for any number of listeners. It runs in a shared worker, so that all tabs of a
// browser use one connection: over HTTP/1.1 a browser opens six to a server, and an open stream takes one of them.

export interface FeedMessage {
  /** `retrying`: the browser reconnects by itself. `closed`: the answer was not a stream; the feed reopens it. */
  kind: "open" | "retrying" | "closed" | "run" | "board" | "resync";
  /** The change that the listener knows of after this message. */
  id: string;
}
export type FeedListener = (message: FeedMessage) => void;

const REOPEN_MILLISECONDS = 10_000;

export class EventFeed {
  private readonly listeners = new Set<FeedListener>();
  private source: EventSource | undefined;
  private reopening: ReturnType<typeof setTimeout> | undefined;
  /** The last change that was delivered, or the one behind which the stream began. */
  private position = "";

  constructor(private readonly address: string) {}

  /** Listen to changes behind `after` until the returned function is called. */
  join(after: string, listener: FeedListener): () => void {
    this.listeners.add(listener);
    if (!this.source) this.open(after);
    else {
      if (this.source.readyState === EventSource.OPEN) listener({ kind: "open", id: "" });
      // What was delivered before this listener joined is not delivered again.
      if (after && !reaches(after, this.position)) listener({ kind: "resync", id: this.position });
    }
    return () => {
      this.listeners.delete(listener);
      if (!this.listeners.size) this.close();
    };
  }

  /** Ask the server again who is listening: the login that the stream began with has ended. */
  restart(): void {
    if (!this.source) return;
    this.close();
    this.open(this.position);
  }

  private open(after: string): void {
    this.close();
    this.position = after;
    const query = after ? `?after=${encodeURIComponent(after)}` : "";
    const source = (this.source = new EventSource(this.address + query));
    for (const kind of ["run", "board", "resync"] as const)
      source.addEventListener(kind, ({ lastEventId }) => {
        this.position = lastEventId || this.position;
        this.send({ kind, id: this.position });
      });
    source.onopen = () => this.send({ kind: "open", id: "" });
    source.onerror = () => {
      const isClosed = source.readyState === EventSource.CLOSED;
      if (isClosed) this.reopening ??= setTimeout(() => this.open(this.position), REOPEN_MILLISECONDS);
      this.send({ kind: isClosed ? "closed" : "retrying", id: "" });
    };
  }

  private close(): void {
    clearTimeout(this.reopening);
    this.reopening = undefined;
    this.source?.close();
    this.source = undefined;
  }

  private send(message: FeedMessage): void {
    for (const listener of this.listeners) listener(message);
  }
}

/** Whether who knows `change` knows `position` too. Changes of another server process cannot be compared. */
function reaches(change: string, position: string): boolean {
  const [life, number] = change.split("-");
  const [otherLife, otherNumber] = position.split("-");
  return life === otherLife && Number(number) >= Number(otherNumber);
}
