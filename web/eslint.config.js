// SPDX-License-Identifier: Apache-2.0
import svelte from "eslint-plugin-svelte";
import globals from "globals";
import ts from "typescript-eslint";
import svelteConfig from "./svelte.config.js";

export default ts.config(
  { ignores: ["node_modules", "src/model/openapi.d.ts"] },
  ...ts.configs.recommended,
  ...svelte.configs.recommended,
  { languageOptions: { globals: { ...globals.browser, ...globals.node } } },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { parserOptions: { parser: ts.parser, extraFileExtensions: [".svelte"], svelteConfig } },
  },
  {
    rules: {
      // Names, tags and texts come from logs: they are shown as text, always.
      "svelte/no-at-html-tags": "error",
      "svelte/no-navigation-without-resolve": "off", // a rule of SvelteKit, whose router is not ours
      "svelte/no-useless-children-snippet": "off", // the panel of a popover is named beside its button
      "svelte/no-useless-mustaches": "off", // quotes and line ends are clearer so
      "svelte/prefer-svelte-reactivity": "off", // maps that are replaced, not changed, need no proxies
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
    },
  },
);
