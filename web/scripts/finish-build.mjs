// SPDX-License-Identifier: Apache-2.0
// Compresses the built page once and for all, and refuses one whose first load is too large.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";

const LIMIT = 200_000; // bytes of compressed JavaScript; what people wait for on a slow line
const folder = new URL("../../src/aboard/server/_web/", import.meta.url).pathname;

function* files(below) {
  for (const name of readdirSync(below)) {
    const path = join(below, name);
    if (statSync(path).isDirectory()) yield* files(path);
    else yield path;
  }
}

// The small script that asks early stands in the document: it runs before any other file has been asked for.
// The server allows it by its checksum.
const { output } = await build({
  configFile: false,
  logLevel: "warn",
  build: {
    write: false,
    target: "es2022",
    lib: { entry: new URL("../src/app/prefetch.ts", import.meta.url).pathname, formats: ["iife"], name: "early" },
  },
}).then((built) => (Array.isArray(built) ? built[0] : built));
const early = output[0].code.trim();
if (early.includes("</")) throw new Error("the early script would end the element that it stands in");
const page = join(folder, "index.html");
const document = readFileSync(page, "utf-8");
writeFileSync(
  page,
  document.replace("<script ", () => `<script>${early}</script>\n    <script `),
);

let script = 0;
for (const path of [...files(folder)]) {
  if (!/\.(js|css|html|svg)$/.test(path)) continue;
  const content = readFileSync(path);
  const zipped = gzipSync(content, { level: 9 });
  writeFileSync(`${path}.gz`, zipped);
  writeFileSync(`${path}.br`, brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
  if (path.endsWith(".js")) script += zipped.length;
}
console.log(`JavaScript: ${script} bytes compressed, of ${LIMIT} allowed`);
if (script > LIMIT) {
  console.error("The page has become too large: load what few people need when they ask for it.");
  process.exit(1);
}
