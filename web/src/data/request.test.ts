// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError } from "../model/errors";
import { connection } from "./connection.svelte";
import { fetchJson, sendRequest } from "./request";

const ERROR = JSON.stringify({ error: { code: "store_unreachable", problem: "the bucket does not answer" } });
let status = 200;
let body = "{}";
let isAlive = true;

beforeEach(() => {
  vi.useFakeTimers();
  [status, body, isAlive] = [200, "{}", true];
  vi.stubGlobal("fetch", (address: string) =>
    Promise.resolve(address === "/healthz" ? new Response("", { status: isAlive ? 200 : 502 }) : answer()),
  );
});
afterEach(async () => {
  [status, isAlive] = [200, true];
  await vi.advanceTimersByTimeAsync(60_000);
  expect(connection.state).toBe("well");
  connection.reset();
  vi.useRealTimers();
});

function answer(): Response {
  return new Response(body, { status });
}

async function failure(asking: Promise<unknown>): Promise<ApiError> {
  return asking.then(
    () => expect.unreachable("it was answered"),
    (error: unknown) => error as ApiError,
  );
}

test.each([502, 503, 504])(
  "a proxy that answers %d for the server is an outage, until a sign of life",
  async (code) => {
    const before = connection.reconnects;
    [status, body, isAlive] = [code, "<h1>Bad Gateway</h1>", false];
    expect((await failure(fetchJson("runs"))).code).toBe("unreachable");
    await vi.advanceTimersByTimeAsync(20_000);
    expect(connection.state).toBe("lost");
    expect(connection.reconnects).toBe(before);
    isAlive = true;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(connection.state).toBe("well");
    expect(connection.reconnects).toBe(before + 1);
  },
);

test.each([502, 503])("the server itself may answer %d, and is there", async (code) => {
  [status, body] = [code, ERROR];
  const failed = await failure(fetchJson("runs"));
  expect([failed.code, failed.message]).toEqual(["store_unreachable", "the bucket does not answer"]);
  expect(connection.state).toBe("well");
});

test("JSON of somebody else is no error of the API", async () => {
  [status, body] = [503, JSON.stringify({ error: "no healthy upstream" })];
  expect((await failure(fetchJson("runs"))).code).toBe("unreachable");
});

test("an answer without a body says nothing about who gave it", async () => {
  [status, body] = [503, ""];
  expect((await failure(sendRequest("runs/a/media/content", { method: "HEAD" }))).status).toBe(503);
  expect(connection.state).toBe("well");
});

test("a server that answers signs of life but no question is asked less and less often", async () => {
  [status, body] = [503, ""];
  const before = connection.reconnects;
  for (let second = 0; second < 60; second++) {
    if (connection.state === "well") await failure(fetchJson("runs"));
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect(connection.reconnects - before).toBeLessThan(20);
});

test("requests that succeed beside one that fails do not make the page ask in a loop", async () => {
  const before = connection.reconnects;
  for (let round = 0; round < 50; round++) {
    [status, body] = [503, ""];
    await failure(fetchJson("files"));
    [status, body] = [200, "{}"];
    await fetchJson("runs");
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(connection.reconnects - before).toBe(1);
});

test("a doubt is an outage only where there is no sign of life", async () => {
  connection.verify();
  await vi.advanceTimersByTimeAsync(0);
  expect(connection.state).toBe("well");
  isAlive = false;
  connection.verify();
  await vi.advanceTimersByTimeAsync(0);
  expect(connection.state).toBe("lost");
});
