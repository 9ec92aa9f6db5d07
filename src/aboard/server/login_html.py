# SPDX-License-Identifier: Apache-2.0
"""The plain pages around a login: no scripts, nothing from elsewhere, and every text in them is shown as text."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from aboard.server.short_answers import ShortAnswer

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 15vh auto; padding: 0 1rem; color: #222; background: #fff }
input, button, a.button { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem .7rem; margin: .3rem 0;
  border: 1px solid #999; border-radius: 4px; text-align: center; display: block; text-decoration: none }
input { text-align: left } button, a.button { background: #f57c00; border-color: #f57c00; color: #fff; cursor: pointer }
.problem { color: #b00020 } small { color: #666 }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #1e1e1e } small { color: #999 } .problem { color: #ff8a80 } }
"""  # noqa: E501 - style, not code
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action "


def page(
    title: str,
    body: Iterable[str],
    *,
    status: int = 200,
    headers: Iterable[tuple[str, str]] = (),
    may_lead_to: str = "",
) -> ShortAnswer:
    """A page of parts that are HTML already. Its form may lead elsewhere than to this server, if that is told."""
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f"<h1>{escape(title)}</h1>{''.join(body)}</body></html>"
    )
    policy = f"{_POLICY}'self' {may_lead_to}".strip()
    given = [("content-security-policy", policy), ("cache-control", "no-store"), ("x-frame-options", "DENY"), *headers]
    return ShortAnswer(status, text.encode("utf-8", "replace"), "text/html; charset=utf-8", given)


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    return f"<p{f' class={kind}' if kind else ''}>{escape(text)}</p>"


def token_form(action: str, wanted: str) -> str:
    """Where a token is pasted."""
    return (
        f'<form method="post" action="{escape(action)}"><input type="hidden" name="next" value="{escape(wanted)}">'
        '<label>Token <input type="password" name="token" autocomplete="off" required autofocus></label>'
        "<button>Log in</button></form>"
        "<p><small>An administrator gives it to you, or `aboard token create` makes one.</small></p>"
    )


def button_link(text: str, address: str) -> str:
    """A link that looks like a button."""
    return f'<p><a class="button" href="{escape(address)}">{escape(text)}</a></p>'


def confirm_form(action: str, fields: dict[str, str], text: str) -> str:
    """A button that sends these fields."""
    hidden = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">' for name, value in fields.items()
    )
    return f'<form method="post" action="{escape(action)}">{hidden}<button>{escape(text)}</button></form>'
