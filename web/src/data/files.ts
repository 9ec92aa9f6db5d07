// SPDX-License-Identifier: Apache-2.0
// Files of a run, what it printed, and values that are no numbers.
import type { Page, Schemas, WireNumber, WithDefaults } from "../model/wire";
import { apiUrl } from "./address";
import { fetchJson, sendRequest } from "./request";

export type RunFile = WithDefaults<Schemas["RunFile"]>;

function below(run: string, what: string): string {
  return `runs/${encodeURIComponent(run)}/${what}`;
}

export function listFiles(run: string, prefix = "", after = ""): Promise<Page<RunFile>> {
  return fetchJson(below(run, "files"), { query: { prefix, after, limit: 1000 } });
}

export function fileUrl(run: string, path: string): string {
  return apiUrl(below(run, "files/content"), { path });
}

export async function fileText(run: string, path: string): Promise<string> {
  return (await sendRequest(below(run, "files/content"), { query: { path } })).text();
}

export type LogPart = WithDefaults<Schemas["LogPart"]>;

export function readLog(run: string, range: { path?: string; offset?: number; tail?: number }): Promise<LogPart> {
  return fetchJson(below(run, "log"), {
    query: range.offset === undefined ? range : { ...range, offset: String(range.offset) },
  });
}

export type MediaEntry = WithDefaults<Schemas["MediaEntry"]>;

export interface MediaPlace {
  run: string;
  tag: string;
  logdir: string;
  kind: string;
}

function mediaQuery({ tag, logdir, kind }: MediaPlace): Record<string, string> {
  return { tag, logdir, kind };
}

export async function mediaEntries(place: MediaPlace): Promise<MediaEntry[]> {
  return (await fetchJson<Page<MediaEntry>>(below(place.run, "media"), { query: mediaQuery(place) })).items;
}

export function mediaUrl(place: MediaPlace, step: WireNumber, sample = 0): string {
  return apiUrl(below(place.run, "media/content"), {
    ...mediaQuery(place),
    step: String(step),
    sample: String(sample),
  });
}

/** How many samples a step has; the head of an answer says so. */
export async function mediaSamples(place: MediaPlace, step: WireNumber): Promise<number> {
  const query = { ...mediaQuery(place), step: String(step) };
  const { headers } = await sendRequest(below(place.run, "media/content"), { method: "HEAD", query });
  return Number(headers.get("X-Samples")) || 1;
}

export async function mediaText(place: MediaPlace, step: WireNumber): Promise<string> {
  return (
    await sendRequest(below(place.run, "media/content"), { query: { ...mediaQuery(place), step: String(step) } })
  ).text();
}

export type HistogramEntry = WithDefaults<Schemas["HistogramEntry"]>;

export async function histograms(place: MediaPlace, count = 60): Promise<HistogramEntry[]> {
  const query = { tag: place.tag, logdir: place.logdir, count };
  return (await fetchJson<Page<HistogramEntry>>(below(place.run, "histograms"), { query })).items;
}

/** The diff of the newest attempt; none where none was recorded. */
export async function recordedDiff(run: string): Promise<string | null> {
  const files = (await listFiles(run, "log/")).items.filter((file) => file.path.endsWith(".diff"));
  const newest = files.at(-1);
  return newest ? fileText(run, newest.path) : null;
}
