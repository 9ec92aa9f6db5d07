// SPDX-License-Identifier: Apache-2.0
// Before each component test the browser is as new; afterwards nothing may have gone wrong unseen.
import { afterEach, beforeEach, expect, vi } from "vitest";
import { locators, page, type Locator } from "vitest/browser";
import { stubEventStreams } from "./event_streams";
import { closePage, forgetVisit } from "./open_page";

declare module "vitest/browser" {
  interface LocatorSelectors {
    getByCss(selector: string): Locator;
  }
}

const WIDTH = 1280;
const HEIGHT = 800;
const failures: string[] = [];
/** What says nothing about the page: an answer that comes after its view was left, and a layout that took two frames. */
const HARMLESS = /derived_inert|ResizeObserver loop/;

locators.extend({ getByCss: (selector: string) => `css=${selector}` });
stubEventStreams();

beforeEach(() => {
  failures.length = 0;
  for (const level of ["error", "warn"] as const)
    vi.spyOn(console, level).mockImplementation((...words: unknown[]) => {
      const text = words.map(String).join(" ");
      if (!HARMLESS.test(text)) failures.push(text);
    });
});

afterEach(async () => {
  await closePage();
  forgetVisit();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  if (innerWidth !== WIDTH || innerHeight !== HEIGHT) await page.viewport(WIDTH, HEIGHT);
  expect(failures, "errors and warnings in the console").toEqual([]);
});
