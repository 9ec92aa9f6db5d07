// SPDX-License-Identifier: Apache-2.0
// Saved views of a stub server.
import type { SavedView, Schemas } from "../model/wire";
import type { StubRuns } from "./stub_runs";
import { refuse } from "./stub_server";

/** Answer for saved views; the list that is returned is what the server has. */
export function answerViews(lab: StubRuns, views: SavedView[] = []): SavedView[] {
  const { server } = lab;
  const placeOf = (id: string | undefined): number => views.findIndex((view) => String(view.id) === id);
  server.on("get", "/api/v1/saved-views", () => ({ items: [...views], next: null }));
  server.on("post", "/api/v1/saved-views", ({ body }) => {
    const given = body as Schemas["NewSavedView"];
    if (views.some((view) => view.name.toLowerCase() === given.name.toLowerCase()))
      return refuse(409, "NameTakenError", `There is already a view ${given.name}.`);
    const view = makeView(views.length + 1, { ...given, owner: lab.person.name });
    views.push(view);
    return view;
  });
  server.on("patch", "/api/v1/saved-views/{view}", ({ path, body }) => {
    const { name, address } = body as Schemas["SavedViewChange"];
    const at = placeOf(path["view"]);
    const view = views[at] as SavedView;
    views[at] = { ...view, name: name ?? view.name, address: address ?? view.address };
    return views[at];
  });
  server.on("delete", "/api/v1/saved-views/{view}", ({ path }) => {
    const [gone] = views.splice(placeOf(path["view"]), 1);
    return gone as SavedView;
  });
  return views;
}

export function makeView(id: number, facts: Partial<SavedView> = {}): SavedView {
  const time = "2026-11-01T00:00:00Z";
  return {
    id,
    workspace: "lab",
    name: `view ${id}`,
    address: "runs",
    owner: "tester",
    created: time,
    changed: time,
    ...facts,
  };
}
