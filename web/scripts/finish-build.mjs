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
