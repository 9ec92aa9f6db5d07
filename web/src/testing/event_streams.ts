// SPDX-License-Identifier: Apache-2.0
// The stream of changes for component tests: takes the place of `EventSource`.
import type { FeedMessage } from "../data/event_feed";

const open = new Set<StubEventSource>();
let changes = 1;

class StubEventSource extends EventTarget {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSED = 2;
  onopen: (() => void) | undefined;
  onerror: (() => void) | undefined;
  readyState = StubEventSource.CONNECTING;

  constructor(readonly url: string) {
    super();
    open.add(this);
    queueMicrotask(() => {
      if (this.readyState !== StubEventSource.CONNECTING) return;
      this.readyState = StubEventSource.OPEN;
      this.onopen?.();
    });
  }

  close(): void {
    this.readyState = StubEventSource.CLOSED;
    open.delete(this);
  }
}

/** Shared workers have globals of their own; without them the page opens the stream itself. */
export function stubEventStreams(): void {
  Reflect.deleteProperty(globalThis, "SharedWorker");
  Object.assign(globalThis, { EventSource: StubEventSource });
}

/** Whether the page listens to changes. */
export function isListening(): boolean {
  return [...open].some((source) => source.readyState === StubEventSource.OPEN);
}

/** Tell the page that runs or boards have changed. */
export function sendChange(kind: FeedMessage["kind"] & ("run" | "board" | "resync")): void {
  changes += 1;
  for (const source of open)
    source.dispatchEvent(new MessageEvent(kind, { data: "{}", lastEventId: `stub-${changes}` }));
}

/** Interrupt the stream, as a server that goes away does; the browser reconnects unless it is `closed`. */
export function breakStreams(isClosed = false): void {
  for (const source of [...open]) {
    source.readyState = isClosed ? StubEventSource.CLOSED : StubEventSource.CONNECTING;
    source.onerror?.();
  }
}
