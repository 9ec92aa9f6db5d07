// SPDX-License-Identifier: Apache-2.0
// Compresses the built page once and for all, and refuses one whose first load is too large.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const LIMIT = 200_000; // bytes of compressed JavaScript; what people wait for on a slow line
const folder = new URL("../../src/aboard/server/_web/", import.meta.url).pathname;

function* files(below) {
  for (const name of readdirSync(below)) {
    const path = join(below, name);
    if (statSync(path).isDirectory()) yield* files(path);
    else yield path;
  }
}

// The small script that asks early stands before the page's own, with what both need on its way already.
const built = readdirSync(join(folder, "_page"));
const named = (begin) => `./_page/${built.find((name) => name.startsWith(begin) && name.endsWith(".js"))}`;
const page = join(folder, "index.html");
const early = `<script type="module" crossorigin src="${named("early-")}"></script>`;
writeFileSync(
  page,
  readFileSync(page, "utf-8").replace('<script type="module"', `${early}\n    <script type="module"`),
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
