// SPDX-License-Identifier: Apache-2.0
// Servers that go away and come back, logins that end, and every view on a phone.
import { beforeEach, expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { openPage } from "../testing/open_page";
import { sweepRuns } from "../testing/run_fixtures";
import { answerBoards, makeBoard } from "../testing/stub_boards";
import { StubFiles } from "../testing/stub_files";
import { addMedia, answerMedia } from "../testing/stub_media";
import { StubRuns } from "../testing/stub_runs";
import { refuse, type StubRequest } from "../testing/stub_server";

const GONE = "Can't reach the server";
const ENDED = "Your session has expired";
const LINE = `printed by the run ${"a very long line ".repeat(40)}`;
let lab: StubRuns;

beforeEach(() => {
  lab = new StubRuns(sweepRuns(3));
  const files = new StubFiles(lab);
  for (const run of lab.runs) {
    files.put(run, "log/1.diff", "diff --git a/train.py b/train.py\n+rate = 2\n").put(run, "log/1.log", `${LINE}\n`);
    addMedia(lab, run, "text", "words");
    addMedia(lab, run, "histogram", "weights");
  }
  answerMedia(lab, () => "a text of the run");
  answerBoards(lab, [makeBoard("1")]);
});

/** Refuse connections for addresses with a part; what is returned accepts them again. */
function cut(part: string): () => void {
  let isAway = true;
  const { fetch } = lab.server;
  const isCut = (address: string) => isAway && (address.includes(part) || address.includes("/healthz"));
  Object.assign(lab.server, {
    fetch: (input: RequestInfo | URL, init?: RequestInit) =>
      isCut(String(input)) ? Promise.reject(new TypeError("Failed to fetch")) : fetch(input, init),
  });
  return () => (isAway = false);
}

const VIEWS: [string, string, string, string][] = [
  ["files", "runs/1?tab=files", "/files?", "log/1.log"],
  ["code", "runs/1?tab=code", "/files?", "+rate = 2"],
  ["the console", "runs/1?tab=console", "/log?", "printed by the run"],
  ["differences", "compare?runs=1,2&tab=differences", "/runs/", "reference"],
  ["code of two runs", "compare?runs=1,2&tab=differences&all=1", "/files?", "+rate = 2"],
  ["texts", "compare?runs=1,2&tab=media", "/media/content?", "a text of the run"],
];

test.each(VIEWS)("%s that could not be read are there when the server is back", async (_, path, part, content) => {
  const restore = cut(part);
  await openPage(lab.server, `/w/lab/${path}`);
  const gone = page.getByRole("main").getByText(GONE).first();
  await expect.element(gone).toBeVisible();
  await expect.element(page.getByText(content).first()).not.toBeInTheDocument();
  restore();
  await expect.element(page.getByText(content).first()).toBeVisible();
  await expect.element(gone).not.toBeInTheDocument();
});

test("parameters of all runs are read when the server is back", async () => {
  const restore = cut("limit=1000");
  await openPage(lab.server, "/w/lab/compare?first=1&tab=parameters");
  await expect.element(page.getByRole("alert").filter({ hasText: GONE })).toBeVisible();
  restore();
  await expect.poll(() => page.getByCss("svg .line").elements().length).toBe(3);
});

test("a server that goes away leaves what is shown, and the page goes on when it is back", async () => {
  await openPage(lab.server, "/w/lab/runs");
  await expect.element(page.getByCss("a.name").first()).toBeVisible();
  lab.server.setAway(true);
  await page.getByRole("columnheader", { name: "status" }).getByRole("button").first().click();
  const banner = page.getByRole("alert").filter({ hasText: GONE });
  await expect.element(banner).toBeVisible();
  await expect.element(page.getByCss("a.name").first()).toBeVisible();
  lab.server.setAway(false);
  await expect.element(banner).not.toBeInTheDocument();
  await expect.element(page.getByCss("a.name").first()).toBeVisible();
});

test("a login that ended leads to the login and back, or is renewed in another tab", async () => {
  let isOut = false;
  const answer = ((_: StubRequest, next: () => unknown) =>
    isOut ? refuse(401, "UnauthorizedError", "Who are you?") : next()) as never;
  for (const path of ["/api/v1/boards", "/api/v1/info"] as const) lab.server.on("get", path, answer);
  await openPage(lab.server, "/w/lab/runs");
  await expect.element(page.getByCss("a.name").first()).toBeVisible();
  isOut = true;
  await page.getByRole("link", { name: "Boards" }).click();
  const banner = page.getByRole("alert").filter({ hasText: ENDED });
  await expect
    .element(banner.getByRole("link", { name: "Log in" }))
    .toHaveAttribute("href", "/login?next=%2Fw%2Flab%2Fboards");
  isOut = false;
  dispatchEvent(new Event("focus")); // of a tab that is chosen again
  await expect.element(banner).not.toBeInTheDocument();
  await expect.element(page.getByRole("link", { name: "board 1" })).toBeVisible();
});

test("the age of the newest point grows by itself", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
  try {
    lab.server.on("get", "/api/v1/charts", () => refuse(503, "BusyError", "Later."));
    lab.server.on("get", "/api/v1/tags", async (_, next) => {
      const found = await next();
      return found instanceof Response ? found : { ...found, newest: Math.floor(Date.now() / 1000) - 1 };
    });
    await openPage(lab.server, "/w/lab/compare?runs=1");
    await expect.element(page.getByText(/newest point\s+(just now|\d+ s ago)/)).toBeVisible();
    await vi.advanceTimersByTimeAsync(5 * 60_000);
    await expect.element(page.getByText(/newest point\s+[56] min ago/)).toBeVisible();
  } finally {
    vi.useRealTimers();
  }
});

const WIDTH = 390;
const PLACES: [string, string][] = [
  ["runs", "sweep-0"],
  ["runs/1", "train/loss"],
  ["runs/1?tab=console", "a very long line"],
  ["compare?first=3", "3 of 3 runs plotted"],
  ["compare?tab=differences", "optimizer"],
  ["compare?tab=media", "weights"],
  ["compare?tab=parameters", "3 runs; drag along an axis"],
  ["boards", "board 1"],
];

test.each(PLACES)("a phone shows %s without scrolling sideways", async (path, text) => {
  await page.viewport(WIDTH, 800);
  await openPage(lab.server, `/w/lab/${path}`);
  await expect.element(page.getByText(text).first()).toBeInTheDocument();
  await expect.poll(() => document.documentElement.scrollWidth).toBeLessThanOrEqual(WIDTH);
});
