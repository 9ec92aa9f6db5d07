// SPDX-License-Identifier: Apache-2.0
// What is asked first about runs: lists of them, and their tags.
import { EVERYWHERE } from "../routing/routes";
import { addressOf, type Query } from "./address";

/** Which runs are meant, and in which order. */
export interface RunList {
  workspace: string;
  where: string;
  sort: string;
  bin: boolean;
}

export interface RunPageAsked {
  limit: number;
  after?: string | undefined;
  columns?: readonly string[];
}

export function listQuery(list: RunList): Query {
  return {
    workspace: list.workspace === EVERYWHERE ? undefined : list.workspace,
    where: list.where,
    bin: list.bin,
    zone: -new Date().getTimezoneOffset(),
  };
}

export function pageQuery(list: RunList, page: RunPageAsked): Query {
  return { ...listQuery(list), sort: list.sort, limit: page.limit, after: page.after, columns: page.columns };
}

export function runsAddress(list: RunList, page: RunPageAsked): string {
  return addressOf("runs", pageQuery(list, page));
}

export const MOST_TAGS = 10_000;

export function tagsPath(run: number | string): string {
  return `runs/${encodeURIComponent(String(run))}/tags`;
}

export function tagsAddress(run: number | string): string {
  return addressOf(tagsPath(run), { limit: MOST_TAGS });
}

export function numbersWhere(numbers: readonly number[]): string {
  return `number in [${numbers.join(", ")}]`;
}
