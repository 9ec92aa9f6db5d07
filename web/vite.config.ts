// SPDX-License-Identifier: Apache-2.0
// Builds the page into the Python package; `npm run dev` serves it beside a running `aboard server`.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { fileURLToPath } from "node:url";
import { defineConfig, type Rolldown } from "vite";

const MAIN = fileURLToPath(new URL("src/app/main.ts", import.meta.url));
const server = process.env["ABOARD_SERVER"] ?? "http://127.0.0.1:8080";

const FIRST = "page";
let first: Set<string> | undefined;

/** One chunk for everything that `app/main.ts` imports; other modules are split by their dynamic imports. */
function firstChunk(id: string, context: Rolldown.ChunkingContext): string | null {
  if (!first) {
    first = new Set([MAIN]);
    for (const one of first) for (const needed of context.getModuleInfo(one)?.importedIds ?? []) first.add(needed);
  }
  return first.has(id) ? FIRST : null;
}

export default defineConfig({
  plugins: [svelte()],
  base: "./", // the server may run below any path, which it writes into the document
  build: {
    outDir: "../src/aboard/server/_web",
    emptyOutDir: true,
    assetsDir: "_page",
    assetsInlineLimit: 0, // the policy of the page allows nothing inline
    modulePreload: { polyfill: false },
    target: "es2022",
    // One file for the first view: a browser has six connections, and the first points need one of them.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: firstChunk }] } } },
  },
  worker: { format: "es" },
  server: { proxy: { "/api": server, "/boards": server, "/_tb": server, "/login": server } },
});
