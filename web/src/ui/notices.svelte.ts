// SPDX-License-Identifier: Apache-2.0
// Short messages at the edge of the page: what was done, and what went wrong.
import { describeError } from "../model/errors";

export interface Notice {
  id: number;
  message: string;
  hint: string;
  bad: boolean;
  undo?: (() => void) | undefined;
}

class NoticeList {
  items = $state<Notice[]>([]);
  private next = 1;

  show(message: string, undo?: () => void): void {
    this.add({ message, hint: "", bad: false, undo }, undo ? 10_000 : 5000);
  }

  showError(error: unknown): void {
    this.add({ ...describeError(error), bad: true }, 15_000);
  }

  close(id: number): void {
    this.items = this.items.filter((one) => one.id !== id);
  }

  private add(notice: Omit<Notice, "id">, milliseconds: number): void {
    const id = this.next++;
    this.items = [...this.items.slice(-3), { id, ...notice }];
    setTimeout(() => this.close(id), milliseconds);
  }
}

export const notices = new NoticeList();
