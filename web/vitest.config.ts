// SPDX-License-Identifier: Apache-2.0
// Tests of the page: modules in Node, components and whole views in Chromium against a stubbed server.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { playwright } from "@vitest/browser-playwright";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { mouseCommands } from "./src/testing/mouse_commands.ts";

/** More than small machines have cores: a test in a browser mostly waits for the page. */
const WORKERS = 3;
const IN_BROWSER = "src/**/*.browser.test.ts";
/** The shell draws the same as the whole Chromium and starts with a third of the work. */
const PROGRAMS = ["chromium-headless-shell", "chromium"];

function chromium(): string {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const found = PROGRAMS.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) =>
    existsSync(path),
  );
  if (!found) throw new Error(`Component tests need Chromium: no ${PROGRAMS.join(" or ")} on PATH.`);
  return found;
}

const PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);
/** Answers for pictures of runs: an <img> does not ask the `fetch` that tests replace. */
const pictures: Plugin = {
  name: "pictures",
  configureServer: ({ middlewares }) => {
    middlewares.use((request, response, next) => {
      if (!/^\/api\/v1\/runs\/[^/]+\/media\/content\?/.test(request.url ?? "")) return next();
      response.setHeader("Content-Type", "image/png");
      response.end(PICTURE);
    });
  },
};

export default defineConfig({
  test: {
    projects: [
      {
        // vmThreads isolates files without a process for each, which would take most of the time.
        test: {
          name: "modules",
          include: ["src/**/*.test.ts"],
          exclude: [IN_BROWSER],
          pool: "vmThreads",
          maxWorkers: WORKERS,
        },
        plugins: [svelte()],
      },
      {
        plugins: [svelte(), pictures],
        // Optimized before the first test: a dependency found later reloads the page in the middle of one.
        optimizeDeps: { include: ["marked", "svelte"] },
        test: {
          name: "page",
          include: [IN_BROWSER],
          setupFiles: ["src/testing/setup.ts"],
          maxWorkers: WORKERS,
          // Files share a page: loading the modules again would take as long as the tests. What outlives a test is forgotten in
          // setup.ts.
          isolate: false,
          // Machines are shared; nothing waits so long when all is well.
          testTimeout: 30_000,
          expect: { poll: { timeout: 10_000 } },
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            viewport: { width: 1280, height: 800 },
            provider: playwright({
              launchOptions: {
                executablePath: chromium(),
                // As tests/support/browsing.py: containers run as root and have little shared memory.
                args: ["--no-sandbox", "--disable-dev-shm-usage", "--no-proxy-server"],
              },
              // Larger than the page in every test: in a smaller window it would be scaled down, and the mouse be beside it.
              contextOptions: { viewport: { width: 1600, height: 1000 }, locale: "en-US", timezoneId: "UTC" },
              actionTimeout: 10_000,
            }),
            instances: [{ browser: "chromium" }],
            commands: mouseCommands,
          },
        },
      },
    ],
  },
});
