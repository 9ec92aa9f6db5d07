# SPDX-License-Identifier: Apache-2.0
"""Every setting: its key in the file, its variable, how its value is parsed, and what it does.

`docs/settings.md` is generated from these declarations.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

from aboard.config.server import LOG_FORMATS, LOGIN_MODES
from aboard.errors import InvalidValue
from aboard.model.names import check_workspace_name

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", re.IGNORECASE | re.ASCII)


def parse_size(text: str) -> int:
    """Bytes."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise InvalidValue(f"{text!r} is no size", hint="write a number of bytes, or 500MB, 4GB, 4GiB")
    number, unit = match.groups()
    return int(float(number) * _UNITS[(unit or "").lower()])


Parse = Callable[[object], object]
_SEGMENT = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._~-]{1,100}")
_OWN_PLACES = frozenset(
    {"_page", "_tb", "api", "boards", "healthz", "login", "logout", "metrics", "proxy", "readyz", "w"}
)
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")


def as_text(value: object) -> str:
    """A text; a number may stand for one."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise InvalidValue(f"{value!r} stands where a text is expected")
    return str(value)


def as_size(value: object) -> int:
    """Bytes."""
    return parse_size(as_text(value))


def as_integer(least: int, most: int) -> Parse:
    """A whole number in this range."""

    def parse(value: object) -> int:
        try:
            number = int(as_text(value))
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise InvalidValue(f"{value!r} is not a whole number from {least} to {most}")
        return number

    return parse


def as_choice(*choices: str) -> Parse:
    """One of these words."""

    def parse(value: object) -> str:
        if value not in choices:
            raise InvalidValue(f"{value!r} is not one of {', '.join(choices)}")
        return str(value)

    return parse


def as_list(part: Callable[[object], object] = as_text, *, between: str = ",") -> Parse:
    """A list; in a variable something stands between its entries."""

    def parse(value: object) -> tuple[object, ...]:
        if isinstance(value, str):
            value = [one.strip() for one in value.split(between) if one.strip()]
        if not isinstance(value, list):
            raise InvalidValue(f"{value!r} stands where a list is expected", hint='write ["one", "another"]')
        return tuple(part(one) for one in cast("list[object]", value))

    return parse


def as_http_url(value: object) -> str:
    """The address of a web site, without what follows the path."""
    given = as_text(value).rstrip("/")
    try:
        parts = urlsplit(given)
        is_fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_fine = False
    if not is_fine or "?" in given or "#" in given:
        raise InvalidValue(f"{value!r} is not an address", hint="write https://aboard.example.org")
    return given


def as_origin(value: object) -> str:
    """Scheme, host and port."""
    given = as_http_url(value)
    if urlsplit(given).path:
        raise InvalidValue(f"{value!r} is more than an origin", hint="write https://name:port without a path")
    return given.lower()


def as_site(value: object) -> str:
    """Where people reach a server: an origin, or a path below one that no place of a server begins with."""
    given = as_http_url(value)
    parts = urlsplit(given)
    names = parts.path.split("/")[1:]
    if not all(_SEGMENT.fullmatch(name) for name in names):
        hint = "use letters, digits and - . _ ~ between single slashes, as https://example.org/team/aboard"
        raise InvalidValue(f"the path of {value!r} is not plain", hint=hint)
    if names and names[0] in _OWN_PLACES:
        hint = f"take another path; these are places of the server itself: {', '.join(sorted(_OWN_PLACES))}"
        raise InvalidValue(f"{value!r} cannot be told from a place below it", hint=hint)
    return f"{parts.scheme}://{parts.netloc}".lower() + parts.path


def as_network(value: object) -> str:
    """An address or a range of them."""
    try:
        return str(ipaddress.ip_network(as_text(value), strict=False))
    except ValueError:
        raise InvalidValue(f"{value!r} is not an address", hint="write 10.0.0.7 or 10.0.0.0/8") from None


def as_header_name(value: object) -> str:
    """The name of a header."""
    if _HEADER.fullmatch(as_text(value)) is None:
        raise InvalidValue(f"{value!r} is not the name of a header", hint="write X-Forwarded-User")
    return as_text(value)


def as_workspace_role(value: object) -> str:
    """`workspace:role`."""
    from aboard.model.people import Role  # its records are not needed in a training process

    workspace, colon, role = as_text(value).partition(":")
    if not colon or role not in list(Role):
        hint = f"write workspace:role; roles are {', '.join(Role)}"
        raise InvalidValue(f"{value!r} is not a role in a workspace", hint=hint)
    check_workspace_name(workspace)
    return as_text(value)


def as_group_role(value: object) -> str:
    """`group=workspace:role`."""
    group, equals, role = as_text(value).rpartition("=")
    if not equals or not group:
        raise InvalidValue(f"{value!r} gives no group a role", hint="write group=workspace:role")
    as_workspace_role(role)
    return as_text(value)


@dataclass(frozen=True, slots=True)
class SettingDeclaration:
    """One setting. `path` is its place in `Settings`, which holds the default."""

    key: str
    about: str
    parse: Parse = as_text
    path: str = ""
    has_variable: bool = True
    is_secret: bool = False

    @property
    def field(self) -> str:
        """The path in `Settings`, which is the key unless something else was said."""
        return self.path or self.key

    @property
    def environment(self) -> str:
        """The variable that wins over the file, if it has one."""
        return f"ABOARD_{self.key.replace('.', '_').upper()}" if self.has_variable else ""


_MANY = as_list()
_LIMIT = as_integer(0, 1_000_000)

SETTINGS = (
    SettingDeclaration(
        "server", "Address of the server that is asked about runs and boards; without it a private one."
    ),
    SettingDeclaration(
        "token", "Who you are to that server; `aboard login` keeps one for each server.", is_secret=True
    ),
    SettingDeclaration("store", "Folder or URI in which runs are kept; without it `$ABOARD_HOME/store`."),
    # A training finds the workspace of its own run in a variable of that name.
    SettingDeclaration("workspace", "Where runs belong for which nobody says it.", has_variable=False),
    SettingDeclaration("tensorboard.template", "How runs of the catalog are named on a board.", path="template"),
    SettingDeclaration(
        "tensorboard.open",
        "What `aboard view` shows first: page or tensorboard.",
        as_choice("page", "tensorboard"),
        "view_opens",
    ),
    SettingDeclaration(
        "jobs.executor",
        "Where jobs run for which nobody says it, as slurm:partition=gpu; without it here.",
        path="executor",
    ),
    SettingDeclaration(
        "cache.limit", "Space for index files and pieces of stores below `$ABOARD_HOME`.", as_size, "cache_limit"
    ),
    SettingDeclaration("serve.host", "Address on which `aboard server` listens."),
    SettingDeclaration("serve.port", "Port; without it 6006 or the next free one, 0 for any.", as_integer(0, 65535)),
    SettingDeclaration(
        "serve.url",
        "The address under which people reach the server, where a proxy stands before it; a path may follow the host. "
        "With https, cookies are sent over TLS alone.",
        as_site,
    ),
    SettingDeclaration(
        "serve.boards_port",
        "Port for boards that are processes, whose scripts must not be of the same origin as the server; without it "
        "the one behind its own, or any that is free.",
        as_integer(0, 65535),
    ),
    SettingDeclaration(
        "serve.boards_url",
        "The address under which people reach that port, where a proxy stands before it; of another name than "
        "`serve.url`, so that browsers keep the two apart.",
        as_site,
    ),
    SettingDeclaration("serve.hosts", "Further names under which it may be asked.", _MANY),
    SettingDeclaration(
        "serve.origins",
        "Origins of other sites whose pages may show boards in frames and ask for changes.",
        as_list(as_origin),
    ),
    SettingDeclaration(
        "serve.proxies",
        "Addresses of reverse proxies: what these say in X-Forwarded-For and in `login.header` is believed.",
        as_list(as_network),
    ),
    SettingDeclaration("serve.stores", "Stores whose runs are shown; without any the one in `store`.", _MANY),
    SettingDeclaration(
        "serve.catalog", "File for SQLite, or postgresql://user@host/database; else `$ABOARD_HOME/catalog.sqlite`."
    ),
    SettingDeclaration(
        "serve.roots",
        "Folders and URIs below which every user may open boards, whatever their roles. Must not contain a store, be "
        "one, or lie in one. Symbolic links below a root are not followed.",
        _MANY,
    ),
    SettingDeclaration(
        "serve.sources",
        "Folders and URIs of event files below `serve.roots` whose runs are shown read-only in a workspace, as "
        "`vision=/data/logs`. People see them by their roles there, also on boards.",
        _MANY,
    ),
    SettingDeclaration("serve.plugins", "TensorBoard plugins of other packages that boards may load.", _MANY),
    SettingDeclaration("serve.log_format", f"{' or '.join(LOG_FORMATS)}.", as_choice(*LOG_FORMATS)),
    SettingDeclaration("serve.largest_request", "Most that one request may send.", as_size),
    SettingDeclaration(
        "serve.connections",
        "Maximum number of open connections; 0: half of the process's file descriptors (`ulimit -n`), at most 4096.",
        as_integer(0, 1_000_000),
    ),
    SettingDeclaration(
        "serve.header_seconds", "Time for a client to send the headers of a request.", as_integer(1, 3600)
    ),
    SettingDeclaration(
        "serve.body_seconds",
        "Time for a client to send the body of a request, plus one second for each kB.",
        as_integer(1, 3600),
    ),
    SettingDeclaration(
        "serve.stalled_seconds",
        "Time after which a connection is closed if the client reads nothing of a response that waits for it.",
        as_integer(1, 86_400),
    ),
    SettingDeclaration(
        "login.mode",
        "personal: one person, or all who know one token; tokens: people with tokens; header: a proxy says who it is; "
        "oidc: an OpenID provider does.",
        as_choice(*LOGIN_MODES),
    ),
    SettingDeclaration("login.session_hours", "How long a browser stays logged in.", as_integer(1, 24 * 366)),
    SettingDeclaration(
        "login.new_people",
        "Roles of who comes for the first time: workspace:role. The workspace is made when it is not there.",
        as_list(as_workspace_role),
    ),
    SettingDeclaration("login.header", "Mode header: the header in which the proxy names the person.", as_header_name),
    SettingDeclaration(
        "login.proxy_secret",
        "Mode header: what the proxy sends as X-Aboard-Proxy-Secret, where its address is not in `serve.proxies`.",
        is_secret=True,
    ),
    SettingDeclaration("login.oidc.issuer", "Mode oidc: the provider, as https://accounts.example.org.", as_http_url),
    SettingDeclaration("login.oidc.client_id", "What the provider calls this server."),
    SettingDeclaration("login.oidc.client_secret", "What proves it; none for a public client.", is_secret=True),
    SettingDeclaration("login.oidc.scopes", "What the provider is asked for.", _MANY),
    SettingDeclaration(
        "login.oidc.name_claim", "The claim that becomes the name of the person; without it the e-mail address."
    ),
    SettingDeclaration("login.oidc.groups_claim", "The claim that lists the person's groups."),
    SettingDeclaration("login.oidc.domains", "Only people with a verified e-mail address in these domains.", _MANY),
    SettingDeclaration("login.oidc.groups", "Only people in one of these groups.", _MANY),
    SettingDeclaration("login.oidc.administrators", "Groups whose people administer the server.", _MANY),
    SettingDeclaration(
        "login.oidc.roles",
        "group=workspace:role. Roles in workspaces that stand here follow the groups at every login.",
        as_list(as_group_role),
    ),
    SettingDeclaration(
        "boards.limit_per_person", "Boards in the server that one person may have open; 0: any number.", _LIMIT
    ),
    SettingDeclaration("boards.process_limit_per_person", "Boards that are processes, likewise.", _LIMIT),
    SettingDeclaration("boards.limit_total", "Boards of all people together; 0: any number.", _LIMIT),
    SettingDeclaration(
        "boards.executors",
        "Where boards that are processes may run, each with the options that it has here, as "
        "slurm:partition=cpu. The server of one person allows all. In the variable, `;` stands between them.",
        as_list(between=";"),
    ),
    SettingDeclaration("boards.executor", "Which of them is meant where nobody names one."),
    SettingDeclaration("boards.image", "Image with TensorBoard in it, for boards in containers."),
    SettingDeclaration(
        "boards.images", "Patterns of further images that people may name, as registry.example.org/tb/*.", _MANY
    ),
    SettingDeclaration(
        "boards.mounts", "Folders of this machine below which people may show something in a container.", _MANY
    ),
    SettingDeclaration(
        "boards.shared_folder",
        "A folder that the machines of slurm, ssh, kubernetes or another Docker daemon see under the same name: copies "
        "of the runs of boards there go into it.",
    ),
    SettingDeclaration(
        "boards.tensorboard",
        "The command that starts TensorBoard on other machines and in containers; without it `tensorboard`, on nodes "
        "of Slurm the server's own.",
    ),
    SettingDeclaration("boards.memory", "Memory that the process of a board may take.", as_size),
)
BY_KEY = {one.key: one for one in SETTINGS}
BY_FIELD = {one.field: one for one in SETTINGS}
