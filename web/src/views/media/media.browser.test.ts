// SPDX-License-Identifier: Apache-2.0
// Media of runs side by side: what the address keeps of them, and what goes wrong.
import { beforeEach, expect, test } from "vitest";
import { page, userEvent, type Locator } from "vitest/browser";
import { openPage, queryOf, reloadPage } from "../../testing/open_page";
import { addMedia, answerMedia } from "../../testing/stub_media";
import { StubRuns } from "../../testing/stub_runs";
import { Held, refuse } from "../../testing/stub_server";

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

function region(tag: string) {
  return page.getByRole("region", { name: tag, exact: true });
}

const slider = page.getByRole("slider", { name: "Step" });

test("a histogram shows the step that it is of", async () => {
  const run = lab.named("dim");
  addMedia(lab, run, "histogram", "steps", [0, 1, 2]);
  // As where a run has so many steps that not all of them are sent.
  lab.server.on("get", "/api/v1/runs/{run}/histograms", async (_, next) => {
    const found = await next();
    return found instanceof Response ? found : { ...found, items: found.items.filter(({ step }) => step !== 1) };
  });
  await openPage(lab.server, `${MEDIA}&runs=${run.number}&media=steps&step=1`);
  await expect.element(region("steps").getByRole("img", { name: "Histogram at step 0," })).toBeVisible();
  await expect.element(region("steps").getByText("step 0", { exact: true })).toBeVisible();
  await expect.element(slider).toHaveAttribute("aria-valuetext", "1");
});

test("the slider stands at the step that is shown", async () => {
  await openPage(lab.server, `${MEDIA}&runs=${lab.number("dim")}&media=picture&step=7`);
  await expect.element(region("picture").getByText("step 5", { exact: true })).toBeVisible();
  await expect.element(slider).toHaveAttribute("aria-valuetext", "5");
  await userEvent.keyboard("{ArrowRight}");
  await expect.element(region("picture").getByText("step 10", { exact: true })).toBeVisible();
});

test("the field of tags keeps the focus while somebody types", async () => {
  await openPage(lab.server, `${MEDIA}&media=picture`);
  await expect.element(region("picture").getByRole("figure").first()).toBeVisible();
  await press(page.getByLabelText("Filter metrics"), "{End}");
  await userEvent.keyboard("|words");
  await expect.poll(() => queryOf()["media"]).toBe("picture|words");
});

test("a late answer about other runs changes nothing", async () => {
  const held = new Held<void>();
  const bright = lab.named("bright").uid;
  let isAnswered = false;
  lab.server.on("get", "/api/v1/runs/{run}/media", async ({ path }, next) => {
    if (path["run"] !== bright || isAnswered) return next();
    await held.promise;
    isAnswered = true;
    return next();
  });
  await openPage(lab.server, `${MEDIA}&runs=${lab.number("dim")},${lab.number("bright")}&media=picture`);
  await page.getByRole("button", { name: "Plot bright" }).click();
  const figures = region("picture").getByRole("figure");
  await expect.element(figures.first()).toBeVisible();
  held.release();
  await expect.poll(() => isAnswered).toBe(true);
  await new Promise((go) => requestAnimationFrame(() => setTimeout(go))); // it has been read and drawn, if ever
  expect(figures.elements().length).toBe(1);
});

const REPORT = `# Result of *step*

| metric | value |
|---|---|
| \`loss\` | **0.5** &lt; 1 |

- [a link](https://example.org/x), [a trap](javascript:window.hacked=1)
- <img src=x onerror="window.hacked=1">

![picture](https://example.org/tracker.png)
`;

test("texts are Markdown without becoming markup", async () => {
  addMedia(lab, lab.named("dim"), "text", "report");
  answerMedia(lab, () => REPORT);
  await openPage(lab.server, `${MEDIA}&runs=${lab.number("dim")}&media=report`);
  await expect.element(page.getByRole("heading", { name: "Result of step" })).toBeVisible();
  await expect.element(page.getByRole("cell", { name: "0.5 < 1" }).getByCss("strong")).toBeVisible();
  const link = page.getByRole("link", { name: "a link" });
  await expect.element(link).toHaveAttribute("href", "https://example.org/x");
  await expect.element(link).toHaveAttribute("target", "_blank");
  await expect.element(page.getByRole("link", { name: "a trap" })).not.toBeInTheDocument();
  await expect.element(page.getByText('<img src=x onerror="window.hacked=1">')).toBeVisible();
  expect(page.getByCss("section img").elements()).toEqual([]);
  expect("hacked" in window).toBe(false);
  await page.getByRole("checkbox", { name: "Plain text" }).click();
  await expect.element(page.getByText("# Result of *step*")).toBeVisible();
  await reloadPage(lab.server);
  await expect.element(page.getByText("# Result of *step*")).toBeVisible();
});

test("all pictures of a step are shown, the first of every run first", async () => {
  lab.server.on(
    "head",
    "/api/v1/runs/{run}/media/content",
    () => new Response(null, { headers: { "X-Samples": "3" } }),
  );
  await openPage(lab.server, `${MEDIA}&media=picture&sort=name`);
  const captions = page.getByCss("figcaption");
  await expect.poll(() => captions.elements().length).toBe(6);
  const texts = captions.elements().map((caption) => caption.textContent.replace(/\s+/g, " "));
  for (const [at, sample] of ["1 of 3", "1 of 3", "2 of 3", "2 of 3"].entries()) expect(texts[at]).toContain(sample);
  expect(new Set(texts.slice(0, 2).map((text) => text.includes("dim")))).toEqual(new Set([true, false]));
});

test("histograms of runs stand on one axis, at the same step", async () => {
  await openPage(lab.server, `${MEDIA}&media=weights`);
  await page.getByRole("checkbox", { name: "Histograms on one axis" }).click();
  const together = page.getByRole("img", { name: "weights: histograms of 2 runs" });
  await expect.element(together).toBeVisible();
  const outlines = () =>
    together
      .getByCss("path")
      .elements()
      .map((path) => path.getAttribute("d"));
  const atEnd = outlines();
  expect(atEnd.length).toBe(2);
  await press(page.getByLabelText("Step", { exact: true }), "{Home}");
  await expect.poll(outlines).not.toEqual(atEnd);
  await reloadPage(lab.server);
  await expect.element(together).toBeVisible();
});
