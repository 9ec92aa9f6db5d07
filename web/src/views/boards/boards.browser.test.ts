// SPDX-License-Identifier: Apache-2.0
// Boards: opened from runs, listed, shared, stopped, started and deleted.
import { beforeEach, expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { openPage, queryOf } from "../../testing/open_page";
import { sweepRuns } from "../../testing/run_fixtures";
import { answerBoards, makeBoard } from "../../testing/stub_boards";
import { StubRuns } from "../../testing/stub_runs";

const BOARDS = "/w/lab/boards";
let lab: StubRuns;

beforeEach(() => {
  lab = new StubRuns(sweepRuns());
});

function button(name: string) {
  return page.getByRole("button", { name, exact: true });
}

test("a board shows its owner, state and last use", async () => {
  answerBoards(lab, [makeBoard("1", { last_used: new Date().toISOString() })]);
  await openPage(lab.server, BOARDS);
  await expect.element(page.getByRole("link", { name: "board 1" })).toBeVisible();
  const texts = (selector: string) =>
    page
      .getByCss(selector)
      .elements()
      .map((cell) => cell.textContent.trim());
  const heads = texts("thead th");
  const shown = Object.fromEntries(texts("tbody tr > *").map((cell, at) => [heads[at], cell]));
  expect(shown["Owner"]).toBe("tester");
  expect(shown["State"]).toBe("running");
  expect(shown["Last used"]).toMatch(/just now|ago/);
});

test("a board is stopped, started and deleted, and its log is read", async () => {
  answerBoards(lab, [makeBoard("1")]);
  await openPage(lab.server, BOARDS);
  await button("Stop").click();
  await expect.element(page.getByText("stopped", { exact: true })).toBeVisible();
  await button("Start").click();
  await expect.element(button("Stop")).toBeVisible();
  await button("Log").click();
  await expect.element(page.getByRole("dialog").getByText("The board is open")).toBeVisible();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).first().click();
  await button("Delete").click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect.element(page.getByText("There are no boards in lab yet")).toBeVisible();
});

test("the address of a board is copied or shown", async () => {
  answerBoards(lab, [makeBoard("1")]);
  const address = `${location.origin}/boards/1/`;
  const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
  await openPage(lab.server, BOARDS);
  await button("Share").click();
  await expect.element(page.getByText("The address of the board is copied")).toBeVisible();
  expect(write).toHaveBeenCalledWith(address);
  write.mockRejectedValue(new Error("not allowed"));
  await button("Share").click();
  await expect.element(page.getByText(address)).toBeVisible();
});

test("a board is found by its name without a request", async () => {
  answerBoards(lab, [makeBoard("1")]);
  await openPage(lab.server, BOARDS);
  await expect.element(page.getByRole("link", { name: "board 1" })).toBeVisible();
  const before = lab.server.requestsTo("/api/v1/boards").length;
  await page.getByLabelText("Find a board").fill("nothing");
  await expect.element(page.getByText("No board matches")).toBeVisible();
  expect(lab.server.requestsTo("/api/v1/boards").length).toBe(before);
  await page.getByLabelText("All owners").click();
  await expect.poll(() => queryOf()["all"]).toBe("0");
  await expect.poll(() => lab.server.requestsTo("/api/v1/boards").length).toBe(before + 1);
});

/** The address that a new tab would go to. */
function watchTabs(): { href: string } {
  const tab = { href: "" };
  vi.spyOn(window, "open").mockReturnValue({ location: tab, close: () => undefined } as unknown as Window);
  return tab;
}

test("runs are opened as a board in the server or in a process", async () => {
  const boards = answerBoards(lab);
  const tab = watchTabs();
  await openPage(lab.server, "/w/lab/runs?sort=name");
  for (const name of ["sweep-0", "sweep-1"]) await page.getByRole("checkbox", { name: `Select ${name}` }).click();
  await button("Open as board").click();
  await expect.poll(() => tab.href).toBe("/boards/1/");
  expect(boards[0]?.sources).toEqual(["run1", "run2"]);
  await page.getByLabelText("Where the board runs").selectOptions("process: local");
  await button("Open as board").click();
  await expect.poll(() => tab.href).toBe("/w/lab/boards/2");
  expect(boards[1]?.settings).toEqual({ executor: "local" });
});

test("profiler traces are opened in a process", async () => {
  const boards = answerBoards(lab);
  const tab = watchTabs();
  const path = "output/tensorboard/plugins/profile/2026_11_16/host.xplane.pb";
  lab.server.on("get", "/api/v1/runs/{run}/files", () => ({ items: [{ path, bytes: 7 }], next: null }));
  await openPage(lab.server, `/w/lab/runs/${lab.number("sweep-1")}?tab=files`);
  const offer = page.getByRole("group", { name: "Open the profiler traces" });
  await expect.element(offer.getByRole("option").first()).toHaveTextContent("process: local");
  await offer.getByRole("button").click();
  await expect.poll(() => tab.href).toBe("/w/lab/boards/1");
  expect(boards[0]?.settings).toEqual({ executor: "local" });
});
