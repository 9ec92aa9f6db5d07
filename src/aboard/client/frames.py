# SPDX-License-Identifier: Apache-2.0
"""Pages of aboard in the output of a notebook's cell."""

from __future__ import annotations

import html
import json
import uuid

# The name by which the browser knows this machine decides whose cookies it sends from within a frame, so a page on
# localhost gets a frame on localhost.
_FRAME = """\
<iframe id="{frame}" width="100%" height="{height}" frameborder="0" title="{title}"></iframe>
<div><a href="{address}" target="_blank" rel="noopener">{title}</a></div>
<script>
(function() {{
  const local = ["localhost", "127.0.0.1"];
  const address = new URL({script_address}, window.location);
  if (local.includes(address.hostname) && local.includes(window.location.hostname)) {{
    address.hostname = window.location.hostname;
  }}
  document.getElementById("{frame}").src = address.toString();
}})();
</script>
"""


def render_frame(framed: str, linked: str, *, title: str, height: int) -> str:
    """The HTML of a frame that shows one address, and of a link to another, which opens in a tab."""
    return _FRAME.format(
        frame=f"aboard-{uuid.uuid4()}",
        height=height,
        title=html.escape(title, quote=True),
        address=html.escape(linked, quote=True),
        script_address=json.dumps(framed).replace("<", "\\u003c"),
    )
