// SPDX-License-Identifier: Apache-2.0
// Runs in the document itself: requests what the first view needs while the page is loading.
import { apiUrl } from "../data/address";
import { prefetch } from "../data/prefetch";
import { COMPARE_VIEW } from "../model/compare_view";
import { readState } from "../model/query_codec";
import { routeOf } from "../model/routes";
import { openingQuery } from "../views/compare/opening_query";

// Svelte creates an error while it loads. For the stack of it V8 would parse the whole page a second time; main.ts
// restores the limit.
Error.stackTraceLimit = 0;

const route = routeOf(location.pathname);
if (route.kind === "compare") {
  const query = openingQuery(route.workspace, readState(COMPARE_VIEW, new URLSearchParams(location.search)));
  if (query) prefetch(apiUrl("charts", query));
}
