// SPDX-License-Identifier: Apache-2.0
// The first script that runs: puts the page into the document.
import { mount } from "svelte";
import "./theme/theme.css";
import App from "./shell/App.svelte";
import { applyTheme } from "./theme/theme.svelte";

applyTheme();
const target = document.getElementById("page");
if (target) mount(App, { target });
