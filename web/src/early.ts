// SPDX-License-Identifier: Apache-2.0
// Stands in the document itself: asks for what the first view will need while the page is on its way.
import { addressOf } from "./api/address";
import { askEarly } from "./api/early";
import { COMPARE_VIEW } from "./compare/compare_view";
import { openingQuery } from "./compare/opening_query";
import { readState } from "./routing/query_codec";
import { routeOf } from "./routing/routes";

const route = routeOf(location.pathname);
if (route.kind === "compare") {
  const query = openingQuery(route.workspace, readState(COMPARE_VIEW, new URLSearchParams(location.search)));
  if (query) askEarly(addressOf("charts", query));
}
