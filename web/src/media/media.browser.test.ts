// SPDX-License-Identifier: Apache-2.0
// Media of runs side by side: what the address keeps of them, and what goes wrong.
import { beforeEach, expect, test } from "vitest";
import { page, userEvent, type Locator } from "vitest/browser";
import { openPage, queryOf, reloadPage } from "../testing/open_page";
import { addMedia, answerMedia } from "../testing/stub_media";
import { refuse } from "../testing/stub_server";
import { StubRuns } from "../testing/stub_runs";

const MEDIA = "/w/lab/compare?tab=media";
let lab: StubRuns;

beforeEach(() => {
  lab = new StubRuns([{ name: "dim" }, { name: "bright" }]);
  for (const run of lab.runs) {
    addMedia(lab, run, "image", "picture");
    addMedia(lab, run, "histogram", "weights");
  }
  answerMedia(lab);
});

async function press(target: Locator, key: string): Promise<void> {
  await expect.element(target).toBeVisible();
  (target.element() as HTMLElement).focus();
  await userEvent.keyboard(key);
}

test("the pair of pictures and the wipe come back", async () => {
  const numbers = `${lab.number("dim")},${lab.number("bright")}`;
  await openPage(lab.server, `${MEDIA}&runs=${numbers}&media=picture&look=wipe`);
  await page.getByLabelText("First picture").selectOptions("bright · step 10");
  const wipe = page.getByLabelText("Wipe between the pictures");
  await press(wipe, "{Home}");
  await expect.poll(() => queryOf()["wipe"]).toBe("0");
  await reloadPage(lab.server);
  await expect.element(wipe).toHaveValue("0");
  await expect
    .element(page.getByLabelText("First picture").getByCss("option:checked"))
    .toHaveTextContent("bright · step 10");
});

test("an arrow moves the slider that has the focus and not the step", async () => {
  await openPage(lab.server, `${MEDIA}&media=picture&look=wipe`);
  await press(page.getByLabelText("Wipe between the pictures"), "{ArrowLeft}");
  await expect.poll(() => queryOf()["wipe"]).toBe("49");
  expect(queryOf()["step"]).toBeUndefined();
  await press(page.getByRole("button", { name: "Wipe", exact: true }), "{ArrowLeft}");
  await expect.poll(() => queryOf()["step"]).toBe("5");
});

test("another step asks for no histogram that is here", async () => {
  await openPage(lab.server, `${MEDIA}&media=weights&together=1`);
  const legend = page.getByCss("figure li");
  await expect.element(legend.filter({ hasText: "step 10" }).nth(1)).toBeVisible();
  const asked = () => lab.server.requests.filter((one) => one.address.includes("/histograms?")).length;
  const before = asked();
  await press(page.getByLabelText("Step", { exact: true }), "{ArrowLeft}");
  await expect.element(legend.filter({ hasText: "step 5" }).nth(1)).toBeVisible();
  expect(asked()).toBe(before);
});

test("media that cannot be read say why", async () => {
  lab.server.on("get", "/api/v1/runs/{run}/media", () => refuse(400, "StorageError", "the disk is gone"));
  await openPage(lab.server, `${MEDIA}&runs=${lab.number("dim")}&media=picture`);
  await expect.element(page.getByCss("section[aria-label=picture] .bad")).toHaveTextContent("dim: the disk is gone");
  await expect.element(page.getByText("None of these runs has it")).not.toBeInTheDocument();
});
