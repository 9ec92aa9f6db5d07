// SPDX-License-Identifier: Apache-2.0
// The first script that runs: puts the page into the document.
import { mount } from "svelte";
import "../ui/theme.css";
import { waitForPrefetched } from "../data/prefetch";
import { applyTheme } from "../ui/theme.svelte";
import App from "./App.svelte";

const NEAR = 80; // milliseconds; a frame without charts costs more than waiting so long for them

Error.stackTraceLimit = 10; // the script in the document sets it to zero while the page loads
applyTheme();
const target = document.getElementById("page");
await waitForPrefetched(NEAR);
if (target) mount(App, { target });
