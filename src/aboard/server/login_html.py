# SPDX-License-Identifier: Apache-2.0
"""The plain pages around a login: no scripts, nothing from elsewhere, and every text in them is shown as text."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from aboard.server.short_answers import ShortAnswer

_STYLE = """
:root { color-scheme: light dark; --ground: #fff; --ink: #16202c; --soft: #4a5767; --line: #c3cad3; --bad: #b00020;
  --accent: #155eef; --on-accent: #fff }
@media (prefers-color-scheme: dark) { :root { --ground: #11161d; --ink: #e6ebf1; --soft: #b0bbc7; --line: #3d4956;
  --bad: #ff8a80; --accent: #5b93ff; --on-accent: #08111f } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 15vh auto; padding: 0 1rem;
  color: var(--ink); background: var(--ground) }
input, button, a.button { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem .7rem; margin: .3rem 0;
  border: 1px solid var(--line); border-radius: 6px; text-align: center; display: block; text-decoration: none }
input { text-align: left; color: inherit; background: var(--ground) }
button, a.button { background: var(--accent); border-color: var(--accent); color: var(--on-accent); cursor: pointer }
.problem { color: var(--bad) } small { color: var(--soft) }
"""
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
        "<p><small>An administrator gives it to you, or <code>aboard token create</code> makes one.</small></p>"
    )


def button_link(text: str, address: str) -> str:
    """A link that looks like a button."""
    return f'<p><a class="button" href="{escape(address)}">{escape(text)}</a></p>'


def link(text: str, address: str) -> str:
    """A plain link."""
    return f'<p><a href="{escape(address)}">{escape(text)}</a></p>'


def confirm_form(action: str, fields: dict[str, str], text: str) -> str:
    """A button that sends these fields."""
    hidden = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">' for name, value in fields.items()
    )
    return f'<form method="post" action="{escape(action)}">{hidden}<button>{escape(text)}</button></form>'
