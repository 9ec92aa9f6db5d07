// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EventFeed, type FeedMessage } from "./event_feed";

/** A stream whose server is the test. */
class Stream extends EventTarget {
  static readonly OPEN = 1;
  static readonly CLOSED = 2;
  static made: Stream[] = [];
  readyState = 0;
  onopen: () => void = () => undefined;
  onerror: () => void = () => undefined;

  constructor(readonly address: string) {
    super();
    Stream.made.push(this);
  }

  enter(readyState: number): void {
    this.readyState = readyState;
    if (readyState === Stream.OPEN) this.onopen();
    else this.onerror();
  }

  hear(kind: string, lastEventId: string): void {
    this.dispatchEvent(Object.assign(new Event(kind), { lastEventId }));
  }

  close(): void {
    this.readyState = Stream.CLOSED;
  }
}

let feed: EventFeed;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", Stream);
  Stream.made = [];
  feed = new EventFeed("/events");
});
afterEach(() => vi.useRealTimers());

function join(after: string): { heard: FeedMessage[]; leave: () => void } {
  const heard: FeedMessage[] = [];
  return { heard, leave: feed.join(after, (message) => heard.push(message)) };
}

function stream(): Stream {
  return Stream.made.at(-1) as Stream;
}

test("all tabs hear the changes of one stream, which ends with the last of them", () => {
  const [one, other] = [join("a-5"), join("a-5")];
  stream().enter(Stream.OPEN);
  stream().hear("run", "a-6");
  expect(Stream.made.map((made) => made.address)).toEqual(["/events?after=a-5"]);
  const heard = [
    { kind: "open", id: "" },
    { kind: "run", id: "a-6" },
  ];
  expect([one.heard, other.heard]).toEqual([heard, heard]);
  one.leave();
  expect(stream().readyState).toBe(Stream.OPEN);
  other.leave();
  expect(stream().readyState).toBe(Stream.CLOSED);
});

test.each([
  ["a-9", []],
  ["a-10", []],
  ["a-8", ["resync"]],
  ["b-20", ["resync"]],
  ["", []], // it looks at everything when it hears that the stream is open
])("a tab that joins later and knows %s hears %s", (after, kinds) => {
  join("a-5");
  stream().enter(Stream.OPEN);
  stream().hear("run", "a-9");
  expect(join(after).heard.map((message) => message.kind)).toEqual(["open", ...kinds]);
  expect(Stream.made.length).toBe(1);
});

test("a tab whose data is older than the beginning of the stream looks at everything", () => {
  join("a-5");
  expect(join("a-4").heard).toEqual([{ kind: "resync", id: "a-5" }]);
});

test("after an answer that is not a stream the next stream begins where the last one ended", () => {
  const { heard } = join("a-5");
  stream().enter(Stream.OPEN);
  stream().hear("board", "a-9");
  stream().enter(Stream.CLOSED);
  expect(heard.at(-1)?.kind).toBe("closed");
  vi.advanceTimersByTime(10_000);
  expect(Stream.made.map((made) => made.address)).toEqual(["/events?after=a-5", "/events?after=a-9"]);
});

test("nothing is reopened for tabs that have left", () => {
  const { leave } = join("a-5");
  stream().enter(Stream.CLOSED);
  leave();
  vi.advanceTimersByTime(60_000);
  expect(Stream.made.length).toBe(1);
});

test("a login that ended ends the stream; the next one asks with the new login", () => {
  join("a-5");
  stream().enter(Stream.OPEN);
  stream().hear("run", "a-7");
  feed.restart();
  expect(Stream.made.map((made) => [made.address, made.readyState])).toEqual([
    ["/events?after=a-5", Stream.CLOSED],
    ["/events?after=a-7", 0],
  ]);
});
