// SPDX-License-Identifier: Apache-2.0
// Colours that people give to runs: chosen in the list, drawn at once, kept by the server.
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { openPage, reloadPage } from "../../testing/open_page";
import { sweepRuns } from "../../testing/run_fixtures";
import { StubRuns } from "../../testing/stub_runs";

const WINE = "rgb(136, 34, 85)";

test("a run is given a colour in the list, keeps it, and gets an automatic one again", async () => {
  const lab = new StubRuns(sweepRuns(3));
  const row = page.getByCss("aside li").filter({ hasText: "sweep-1" });
  const colour = () => getComputedStyle(row.getByCss(".eye i").element()).backgroundColor;
  const menu = page.getByRole("menu", { name: "Color of sweep-1" });
  await openPage(lab.server, "/w/lab/compare");
  await row.hover();
  const automatic = colour();
  await row.getByRole("button", { name: "Color of sweep-1" }).click();
  await menu.getByRole("menuitem", { name: "wine" }).click();
  await expect.poll(colour).toBe(WINE);
  expect(lab.named("sweep-1").tags["aboard.color"]).toBe("wine");
  localStorage.clear(); // another browser
  await reloadPage(lab.server);
  await expect.element(row).toBeVisible();
  await expect.poll(colour).toBe(WINE);
  await row.hover();
  await row.getByRole("button", { name: "Color of sweep-1" }).click();
  await menu.getByRole("menuitem", { name: "Automatic" }).click();
  await expect.poll(colour).toBe(automatic);
});

test("selected runs are given a colour together, which is not shown as a tag", async () => {
  const lab = new StubRuns(sweepRuns(3));
  await openPage(lab.server, "/w/lab/runs");
  await page.getByLabelText("Select sweep-0").click();
  await page.getByLabelText("Select sweep-2").click();
  await page.getByRole("group", { name: "Selected runs" }).getByRole("button", { name: "Color" }).click();
  await userEvent.keyboard("{End}{ArrowUp}{ArrowUp}{Enter}");
  const dots = () =>
    page
      .getByCss(".dot")
      .elements()
      .map((dot) => getComputedStyle(dot).backgroundColor);
  await expect.poll(() => dots().filter((one) => one === "rgb(107, 107, 107)").length).toBe(2);
  await expect.element(page.getByText("aboard.color")).not.toBeInTheDocument();
});
