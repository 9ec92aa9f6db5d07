// SPDX-License-Identifier: Apache-2.0
// Folders that `aboard view` shows: how far they have been read, and what is wrong in them.
import { PREFIX } from "./address";
import { live } from "./live.svelte";
import { fetchJson } from "./request";

export interface ReadingProgress {
  runs_read: number;
  runs_found: number;
  /** Whether everything has been read once. */
  complete: boolean;
  unreadable_files: number;
  damaged_files: number;
  store_problems: string[];
}

export interface FolderContent {
  place: string;
  files: number;
  folders: number;
  kinds: Record<string, number>;
  is_partial: boolean;
  problem: string;
}

export interface SourceReport {
  title: string;
  folders: FolderContent[];
  problems: { file: string; problem: string }[];
  left_out: number;
}

const POLL_MILLISECONDS = 300;
/** Views load again so often while runs are read. */
const REFRESH_MILLISECONDS = 1000;
/** Problems of files that grow are looked for so often. */
const LOOK_AGAIN_MILLISECONDS = 15_000;

class Reading {
  progress = $state.raw<ReadingProgress>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private polledAt = 0;
  private refreshedAt = 0;
  private shown = 0;

  /** Poll until everything has been read once, and then when runs change; until the returned function is called. */
  follow(): () => void {
    this.progress = undefined;
    [this.refreshedAt, this.shown] = [Date.now(), 0];
    void this.poll();
    const stop = live.onRuns(() => {
      if (this.progress?.complete && Date.now() - this.polledAt > LOOK_AGAIN_MILLISECONDS) void this.poll();
    });
    return () => {
      stop();
      clearTimeout(this.timer);
    };
  }

  private async poll(): Promise<void> {
    this.polledAt = Date.now();
    const before = this.progress;
    // Not as other requests: what the server answers while it starts says nothing about its changes.
    const answer = await fetch(`${PREFIX}/progress`, { cache: "no-store" }).catch(() => undefined);
    const found = answer?.ok ? ((await answer.json()) as ReadingProgress) : undefined;
    if (found) this.progress = found;
    this.refreshViews(before);
    if (!this.progress?.complete) this.timer = setTimeout(() => void this.poll(), POLL_MILLISECONDS);
  }

  /** Runs fill the page while they are read: the stream of changes may not have begun yet. */
  private refreshViews(before: ReadingProgress | undefined): void {
    const { progress } = this;
    if (!progress || progress.runs_read === this.shown) return;
    const isEnd = progress.complete && before !== undefined;
    if (!isEnd && Date.now() - this.refreshedAt < REFRESH_MILLISECONDS) return;
    [this.refreshedAt, this.shown] = [Date.now(), progress.runs_read];
    live.refresh();
  }
}

export const reading = new Reading();

/** Where runs were looked for, and which files cannot be read. */
export function fetchSourceReport(): Promise<SourceReport> {
  return fetchJson("source");
}
