// SPDX-License-Identifier: Apache-2.0
// Builds the page into the Python package; `npm run dev` serves it beside a running `aboard server`.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

const server = process.env["ABOARD_SERVER"] ?? "http://127.0.0.1:8080";

const EARLY =
  /src\/(api\/(address|early|run_addresses)|compare\/(compare_view|run_numbers)|routing\/(query_codec|routes))\.ts$/;

export default defineConfig({
  plugins: [svelte()],
  base: "./", // the server may stand below any path, which it writes into the document
  build: {
    outDir: "../src/aboard/server/_web",
    emptyOutDir: true,
    assetsDir: "_page",
    assetsInlineLimit: 0, // the policy of the page allows nothing inline
    modulePreload: { polyfill: false },
    target: "es2022",
    rolldownOptions: {
      input: { index: "index.html", early: "src/early.ts" },
      // What both entries need is one file: it is small, and its state must exist once.
      output: { advancedChunks: { groups: [{ name: "addresses", test: EARLY }] } },
    },
  },
  server: { proxy: { "/api": server, "/boards": server, "/_tb": server, "/login": server } },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
