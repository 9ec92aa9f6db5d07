// SPDX-License-Identifier: Apache-2.0
// Files of a run, what it printed, and values that are no numbers.
import type { Page, Told, Whole, WireNumber } from "../model/wire";
import { addressOf, ask, send } from "./request";

export type RunFile = Whole<Told["RunFile"]>;

function below(run: string, what: string): string {
  return `runs/${encodeURIComponent(run)}/${what}`;
}

export function listFiles(run: string, prefix = "", after = ""): Promise<Page<RunFile>> {
  return ask(below(run, "files"), { query: { prefix, after, limit: 1000 } });
}

export function fileAddress(run: string, path: string): string {
  return addressOf(below(run, "files/content"), { path });
}

export async function fileText(run: string, path: string): Promise<string> {
  return (await send(below(run, "files/content"), { query: { path } })).text();
}

export type LogPart = Whole<Told["LogPart"]>;

export function readLog(run: string, asked: { path?: string; offset?: number; tail?: number }): Promise<LogPart> {
  return ask(below(run, "log"), {
    query: asked.offset === undefined ? asked : { ...asked, offset: String(asked.offset) },
  });
}

export type MediaEntry = Whole<Told["MediaEntry"]>;

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
  return (await ask<Page<MediaEntry>>(below(place.run, "media"), { query: mediaQuery(place) })).items;
}

export function mediaAddress(place: MediaPlace, step: WireNumber, sample = 0): string {
  return addressOf(below(place.run, "media/content"), {
    ...mediaQuery(place),
    step: String(step),
    sample: String(sample),
  });
}

/** How many samples a step has; the head of an answer says so. */
export async function mediaSamples(place: MediaPlace, step: WireNumber): Promise<number> {
  const query = { ...mediaQuery(place), step: String(step) };
  const { headers } = await send(below(place.run, "media/content"), { method: "HEAD", query });
  return Number(headers.get("X-Samples")) || 1;
}

export async function mediaText(place: MediaPlace, step: WireNumber): Promise<string> {
  return (
    await send(below(place.run, "media/content"), { query: { ...mediaQuery(place), step: String(step) } })
  ).text();
}

export type HistogramEntry = Whole<Told["HistogramEntry"]>;

export async function histograms(place: MediaPlace, count = 60): Promise<HistogramEntry[]> {
  const query = { tag: place.tag, logdir: place.logdir, count };
  return (await ask<Page<HistogramEntry>>(below(place.run, "histograms"), { query })).items;
}
