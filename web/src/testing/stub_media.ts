// SPDX-License-Identifier: Apache-2.0
// Pictures, sounds, texts and histograms of a stub server. Pictures themselves come from vitest.config.ts: an <img> does not
// ask `fetch`.
import type { Run } from "../model/wire";
import type { StubMedia } from "./stub_curves";
import type { StubRuns } from "./stub_runs";
import { refuse, type StubRequest } from "./stub_server";

/** Let a run have media at some steps. */
export function addMedia(
  lab: StubRuns,
  run: Run,
  kind: StubMedia["kind"],
  tag: string,
  steps: readonly number[] = [0, 5, 10],
): void {
  lab.media.push({ uid: run.uid, tag, kind, logdir: "", steps });
}

/** Answer for media: each picture has one sample, each text is its step in bold, each histogram has ten bins. */
export function answerMedia(lab: StubRuns, text: (step: number) => string = (step) => `**step ${step}**`): void {
  const find = ({ path, query }: StubRequest): StubMedia | undefined =>
    lab.media.find((one) => one.uid === path["run"] && one.tag === query.get("tag"));
  const missing = (): Response => refuse(404, "UnknownTagError", "There is no such tag.");
  lab.server.on("get", "/api/v1/runs/{run}/media", (request) => {
    const found = find(request);
    if (!found) return missing();
    return { items: found.steps.map((step) => ({ step, wall_time: 1000 + step, bytes: 100 })), next: null };
  });
  lab.server.on(
    "head",
    "/api/v1/runs/{run}/media/content",
    () => new Response(null, { headers: { "X-Samples": "1" } }),
  );
  lab.server.on(
    "get",
    "/api/v1/runs/{run}/media/content",
    ({ query }) => new Response(text(Number(query.get("step")))),
  );
  lab.server.on("get", "/api/v1/runs/{run}/histograms", (request) => {
    const found = find(request);
    if (!found) return missing();
    const bins = Array.from({ length: 10 }, (_, at) => at);
    const items = found.steps.map((step) => ({
      step,
      wall_time: 1000 + step,
      lefts: bins,
      rights: bins.map((at) => at + 1),
      counts: bins.map((at) => at + step),
    }));
    return { items, next: null };
  });
}
