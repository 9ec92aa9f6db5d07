// SPDX-License-Identifier: Apache-2.0
// Checks which folder of src imports which, types included, and that no modules import each other in a cycle.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative, sep } from "node:path";
import { parse } from "svelte/compiler";
import ts from "typescript";

/** What each layer may import besides itself. One view never imports another: what views share has a place below them. */
const ALLOWED = {
  model: [],
  data: ["model"],
  ui: ["model"],
  charts: ["model", "ui"],
  views: ["model", "data", "ui", "charts"],
  app: ["model", "data", "ui", "charts", "views"],
  testing: ["model", "data", "ui", "charts", "views", "app"],
};
const root = new URL("../src/", import.meta.url).pathname;

/** The relative specifiers that a module imports or exports from. */
function importsOf(path) {
  const text = readFileSync(join(root, path), "utf-8");
  if (path.endsWith(".svelte")) return [...svelteImports(parse(text, { modern: true }))];
  return [...typescriptImports(ts.createSourceFile(path, text, ts.ScriptTarget.Latest))];
}

function* typescriptImports(node) {
  const isImport = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
  const source = isImport
    ? node.arguments[0]
    : (node.moduleSpecifier ?? (ts.isImportTypeNode(node) && node.argument.literal));
  if (source?.text !== undefined) yield source.text;
  const children = [];
  ts.forEachChild(node, (child) => void children.push(child));
  for (const child of children) yield* typescriptImports(child);
}

/** The compiler's tree has the imports of types too, which the code that it makes has not. */
function* svelteImports(node) {
  if (typeof node !== "object" || node === null) return;
  if (/^(Import|Export\w*Declaration$)/.test(node.type ?? "") && typeof node.source?.value === "string")
    yield node.source.value;
  for (const [name, child] of Object.entries(node)) if (name !== "metadata") yield* svelteImports(child);
}

const files = readdirSync(root, { recursive: true }).filter((path) => /\.(ts|svelte)$/.test(path));
const known = new Set(files);
const problems = [];

/** From each module to those that it imports. */
const graph = new Map(
  files.map((path) => [
    path,
    importsOf(path)
      .filter((specifier) => specifier.startsWith(".") && !specifier.endsWith(".css"))
      .flatMap((specifier) => {
        const target = normalize(join(dirname(path), specifier));
        const found = [target, `${target}.ts`, `${target}.d.ts`].find((one) => known.has(one));
        if (!found) problems.push(`${path} imports ${specifier}, which does not exist`);
        return found && found !== path ? [found] : [];
      }),
  ]),
);

for (const [path, targets] of graph) {
  const [layer, view] = path.split(sep);
  if (!(layer in ALLOWED)) problems.push(`${path} is in none of ${Object.keys(ALLOWED).join(", ")}`);
  const isTest = path.endsWith(".test.ts");
  for (const target of targets) {
    const [other, otherView] = target.split(sep);
    const isAllowed =
      other === layer
        ? layer !== "views" || otherView === view
        : ALLOWED[layer]?.includes(other) || (isTest && other === "testing");
    if (!isAllowed) problems.push(`${path} must not import ${target}`);
  }
}

/** Depth first: a module that is met again on the way to itself closes a cycle. */
function findCycles(path, way, done) {
  if (way.includes(path)) problems.push(`cycle: ${[...way.slice(way.indexOf(path)), path].join(" > ")}`);
  if (done.has(path)) return;
  done.add(path);
  for (const target of graph.get(path)) findCycles(target, [...way, path], done);
}
const done = new Set();
for (const path of files) findCycles(path, [], done);

for (const problem of problems) console.error(`${relative(process.cwd(), root)}: ${problem}`);
if (problems.length) process.exit(1);
