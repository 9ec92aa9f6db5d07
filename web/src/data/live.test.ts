// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { connection } from "./connection.svelte";
import { Live } from "./live.svelte";

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

  open(): void {
    this.readyState = 1;
    this.onopen();
  }

  fail(readyState: number): void {
    this.readyState = readyState;
    this.onerror();
  }

  receive(kind: string, lastEventId: string): void {
    this.dispatchEvent(Object.assign(new Event(kind), { lastEventId }));
  }

  close(): void {
    this.readyState = Stream.CLOSED;
  }
}

const [CONNECTING, CLOSED] = [0, 2];
let live: Live;
let styles: number;
const verify = vi.spyOn(connection, "verify").mockImplementation(() => undefined);

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", Stream);
  Stream.made = [];
  verify.mockClear();
  live = new Live();
  styles = 0;
});
afterEach(() => vi.useRealTimers());

function watch(): () => void {
  const end = live.onRuns(() => (styles += 1));
  vi.advanceTimersByTime(1000);
  return end;
}

function stream(): Stream {
  return Stream.made.at(-1) as Stream;
}

function looksAfter(doing: () => void): number {
  styles = 0;
  doing();
  vi.advanceTimersByTime(2000);
  return styles;
}

test("a stream goes on behind the first answer, so nothing between the two is missed", () => {
  live.noteChange(null);
  live.noteChange("a-5");
  live.noteChange("a-7");
  watch();
  expect(stream().address).toBe("/api/v1/events?after=a-5");
  expect(looksAfter(() => stream().open())).toBe(0);
  expect(looksAfter(() => stream().receive("run", "a-6"))).toBe(1);
});

test("where nobody knows what happened before the stream, views look again", () => {
  watch();
  expect(stream().address).toBe("/api/v1/events");
  expect(looksAfter(() => stream().open())).toBe(1);
});

test("after an answer that is no stream another one begins where the last one ended", () => {
  live.noteChange("a-5");
  watch();
  stream().open();
  stream().receive("run", "a-9");
  stream().fail(CLOSED);
  expect(verify).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(10_000);
  expect(Stream.made.map((one) => one.address)).toEqual(["/api/v1/events?after=a-5", "/api/v1/events?after=a-9"]);
  expect(looksAfter(() => stream().receive("resync", "b-1"))).toBe(1);
});

test("a stream that ends and is soon open again is no outage, one that stays away may be one", () => {
  watch();
  stream().open();
  stream().fail(CONNECTING);
  vi.advanceTimersByTime(2000);
  stream().open();
  vi.advanceTimersByTime(60_000);
  expect(verify).not.toHaveBeenCalled();
  for (let round = 1; round <= 2; round++) {
    stream().fail(CONNECTING);
    vi.advanceTimersByTime(60_000);
    expect(verify).toHaveBeenCalledTimes(round);
  }
});

test("the next view goes on with the same stream, and nobody keeps one", () => {
  const end = watch();
  end();
  const endNext = watch();
  expect(Stream.made.length).toBe(1);
  expect(stream().readyState).not.toBe(CLOSED);
  endNext();
  vi.advanceTimersByTime(1000);
  expect(stream().readyState).toBe(CLOSED);
});

test("a page that is hidden leaves the stream, and asks for what it missed when it is seen again", () => {
  const hidden = Object.assign(new EventTarget(), { hidden: false });
  vi.stubGlobal("document", hidden);
  vi.stubGlobal("addEventListener", () => undefined);
  live = new Live();
  live.noteChange("a-5");
  watch();
  stream().receive("run", "a-6");
  const show = (isShown: boolean): void => {
    hidden.hidden = !isShown;
    hidden.dispatchEvent(new Event("visibilitychange"));
  };
  show(false);
  expect(stream().readyState).toBe(CLOSED);
  show(true);
  expect(Stream.made.map((one) => one.address)).toEqual(["/api/v1/events?after=a-5", "/api/v1/events?after=a-6"]);
  vi.unstubAllGlobals();
});
