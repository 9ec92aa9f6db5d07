// SPDX-License-Identifier: Apache-2.0
import { expect, test, vi } from "vitest";
import { curveStore } from "./curve_store.svelte";

test("no question is longer than proxies take, however many runs are compared", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (address: string) => {
    asked.push(address);
    return Promise.resolve(new Response("", { status: 500 }));
  });
  const runs = Array.from({ length: 500 }, (_, at) => 10_000 + at);
  const tags = Array.from(
    { length: 40 },
    (_, at) => `a/rather (long) name of a tag ${"of many words ".repeat(12)}${at}`,
  );
  const windows = [{ fromStep: 1, toStep: 2 }];
  await Promise.allSettled(tags.map((tag) => curveStore.curves({ tag, runs, points: 200, windows, means: false })));
  const found = asked.flatMap((address) => new URL(address, "http://server").searchParams.getAll("tag"));
  expect(found.sort()).toEqual(tags.sort());
  expect(Math.max(...asked.map((address) => address.length))).toBeLessThan(8000);
  expect(asked.length).toBeLessThan(tags.length);
});
