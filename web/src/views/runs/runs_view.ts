// SPDX-License-Identifier: Apache-2.0
// What the table of runs shows: all of it stands in the address.
import { flag, list, number, text } from "../../model/query_codec";

export const RUNS_VIEW = {
  where: text(),
  sort: text("-created"),
  bin: flag(),
  /** Fields, as the query language writes them; `auto` stands for those that fit the runs. */
  columns: list(["auto"]),
  pinned: list(),
  /** `field=pixels` */
  widths: list(),
  /** So many runs from the top are plotted. */
  first: number(10, 0, 500),
  /** Numbers of runs that are plotted, or not, apart from that. */
  shown: list(),
  hidden: list(),
};
