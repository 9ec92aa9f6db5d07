// SPDX-License-Identifier: Apache-2.0
// The shared worker with the feed of all tabs. It ends with the last tab of the page.
import { EventFeed, type FeedMessage } from "./event_feed";

/** What a tab sends: where the stream is and what it knows, or that the login has changed, or that it leaves. */
export type TabMessage = { kind: "join"; address: string; after: string } | { kind: "restart" } | { kind: "leave" };

let feed: EventFeed | undefined;

addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports as [MessagePort];
  let leave: (() => void) | undefined;
  port.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    if (data.kind === "restart") return feed?.restart();
    leave?.();
    leave = undefined;
    if (data.kind === "leave") return port.close();
    feed ??= new EventFeed(data.address); // the same for all tabs: the worker's script is below it
    leave = feed.join(data.after, (message: FeedMessage) => port.postMessage(message));
  };
});
