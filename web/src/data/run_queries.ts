// SPDX-License-Identifier: Apache-2.0
// How lists of runs are asked for.
import { EVERYWHERE } from "../model/routes";
import type { Query } from "./address";

/** Which runs are meant, and in which order. */
export interface RunList {
  workspace: string;
  where: string;
  sort: string;
  bin: boolean;
}

export interface RunPageOptions {
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

export function pageQuery(list: RunList, page: RunPageOptions): Query {
  return { ...listQuery(list), sort: list.sort, limit: page.limit, after: page.after, columns: page.columns };
}

export function numbersWhere(numbers: readonly number[]): string {
  return `number in [${numbers.join(", ")}]`;
}
