// SPDX-License-Identifier: Apache-2.0
import { beforeEach, expect, test, vi } from "vitest";
import { fetchRunMarks, listAllRuns, listRuns } from "../../data/runs";
import type { Run } from "../../model/wire";
import { PAGE, PagedRuns } from "./paged_runs.svelte";

vi.mock("../../data/runs", () => ({ listAllRuns: vi.fn(), listRuns: vi.fn(), fetchRunMarks: vi.fn() }));

const LIST = { workspace: "lab", where: "", sort: "name", bin: false };
const ALL = Array.from({ length: 2345 }, (_, index) => ({ uid: String(index) }) as Run);
// A mark is the last run of a page.
const MARKS = ALL.filter((_, index) => index % PAGE === PAGE - 1).map((run) => run.uid);

function behind(after: string | undefined | null, count: number): Run[] {
  const from = after === undefined || after === null ? 0 : Number(after) + 1;
  return ALL.slice(from, from + count);
}

beforeEach(() => {
  vi.mocked(fetchRunMarks).mockResolvedValue({ count: ALL.length, every: PAGE, marks: MARKS });
  vi.mocked(listRuns).mockImplementation((_, { after, limit }) =>
    Promise.resolve({ items: behind(after, limit ?? 0), next: null }),
  );
  vi.mocked(listAllRuns).mockReset();
  vi.mocked(listAllRuns).mockImplementation((_, __, part) =>
    Promise.resolve(behind(part?.after, part?.most ?? ALL.length)),
  );
});

async function shown(): Promise<PagedRuns> {
  const runs = new PagedRuns();
  await runs.show(LIST, []);
  return runs;
}

test("rows that nobody has looked at are asked for", async () => {
  const runs = await shown();
  expect(runs.at(1000)).toBeUndefined();
  for (const [first, last] of [
    [20, 2344],
    [730, 1810],
    [1000, 1099],
    [1000, 1000],
  ] as const)
    expect(await runs.between(first, last)).toEqual(ALL.slice(first, last + 1));
});

test("rows that are here are not asked for", async () => {
  const runs = await shown();
  expect(await runs.between(3, 7)).toEqual(ALL.slice(3, 8));
  expect(listAllRuns).not.toHaveBeenCalled();
});

test("a list that is left meanwhile gives no rows, and a failure is told", async () => {
  const runs = await shown();
  vi.mocked(listAllRuns).mockRejectedValue(new Error("gone"));
  await expect(runs.between(20, 2000)).rejects.toThrow("gone");
  const left = runs.between(20, 2000);
  void runs.show({ ...LIST, where: "name == 'x'" }, []);
  expect(await left).toEqual([]);
});
