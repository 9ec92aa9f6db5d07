# SPDX-License-Identifier: Apache-2.0
"""Every setting: its key in the file, its variable, what it may be and does. The documentation is made of this."""

from __future__ import annotations

from dataclasses import dataclass

from aboard.config import parsing
from aboard.config.parsing import Parse
from aboard.config.server_settings import LOG_FORMATS, LOGIN_MODES


@dataclass(frozen=True, slots=True)
class Declared:
    """One setting. `path` leads to it in `Settings`, where its default stands."""

    key: str
    about: str
    parse: Parse = parsing.text
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


_MANY = parsing.many()
_LIMIT = parsing.whole(0, 1_000_000)

SETTINGS = (
    Declared("server", "Address of the server that is asked about runs and boards; without it a private one."),
    Declared("token", "Who you are to that server; `aboard login` keeps one for each server.", is_secret=True),
    Declared("store", "Folder or URI in which runs are kept; without it `$ABOARD_HOME/store`."),
    # A training finds the workspace of its own run in a variable of that name.
    Declared("workspace", "Where runs belong for which nobody says it.", has_variable=False),
    Declared("tensorboard.template", "How runs of the catalog are named on a board.", path="template"),
    Declared(
        "jobs.executor",
        "Where jobs run for which nobody says it, as slurm:partition=gpu; without it here.",
        path="executor",
    ),
    Declared(
        "cache.limit", "Space for index files and pieces of stores below `$ABOARD_HOME`.", parsing.size, "cache_limit"
    ),
    Declared("serve.host", "Address on which `aboard server` listens."),
    Declared("serve.port", "Port; without it 6006 or the next free one, 0 for any.", parsing.whole(0, 65535)),
    Declared(
        "serve.url",
        "The address under which people reach the server, where a proxy stands before it; a path may follow the host. "
        "With https, cookies are sent over TLS alone.",
        parsing.site,
    ),
    Declared(
        "serve.boards_port",
        "Port for boards that are processes, whose scripts must not be of the same origin as the server; without it "
        "the one behind its own, or any that is free.",
        parsing.whole(0, 65535),
    ),
    Declared(
        "serve.boards_url",
        "The address under which people reach that port, where a proxy stands before it; of another name than "
        "`serve.url`, so that browsers keep the two apart.",
        parsing.site,
    ),
    Declared("serve.hosts", "Further names under which it may be asked.", _MANY),
    Declared(
        "serve.origins",
        "Origins of other sites whose pages may show boards in frames and ask for changes.",
        parsing.many(parsing.origin),
    ),
    Declared(
        "serve.proxies",
        "Addresses of reverse proxies: what these say in X-Forwarded-For and in `login.header` is believed.",
        parsing.many(parsing.network),
    ),
    Declared("serve.stores", "Stores whose runs are shown; without any the one in `store`.", _MANY),
    Declared(
        "serve.catalog", "File for SQLite, or postgresql://user@host/database; else `$ABOARD_HOME/catalog.sqlite`."
    ),
    Declared(
        "serve.roots",
        "Folders and URIs below which every user may open boards, whatever their roles. Must not contain a store, be "
        "one, or lie in one. Symbolic links below a root are not followed.",
        _MANY,
    ),
    Declared("serve.plugins", "TensorBoard plugins of other packages that boards may load.", _MANY),
    Declared("serve.log_format", f"{' or '.join(LOG_FORMATS)}.", parsing.one_of(*LOG_FORMATS)),
    Declared("serve.largest_request", "Most that one request may send.", parsing.size),
    Declared(
        "serve.connections",
        "Maximum number of open connections; 0: half of the process's file descriptors (`ulimit -n`), at most 4096.",
        parsing.whole(0, 1_000_000),
    ),
    Declared("serve.header_seconds", "Time for a client to send the headers of a request.", parsing.whole(1, 3600)),
    Declared(
        "serve.body_seconds",
        "Time for a client to send the body of a request, plus one second for each kB.",
        parsing.whole(1, 3600),
    ),
    Declared(
        "serve.stalled_seconds",
        "Time after which a connection is closed if the client reads nothing of a response that waits for it.",
        parsing.whole(1, 86_400),
    ),
    Declared(
        "login.mode",
        "personal: one person, or all who know one token; tokens: people with tokens; header: a proxy says who it is; "
        "oidc: an OpenID provider does.",
        parsing.one_of(*LOGIN_MODES),
    ),
    Declared("login.session_hours", "How long a browser stays logged in.", parsing.whole(1, 24 * 366)),
    Declared(
        "login.new_people",
        "Roles of who comes for the first time: workspace:role. The workspace is made when it is not there.",
        parsing.many(parsing.workspace_role),
    ),
    Declared("login.header", "Mode header: the header in which the proxy names the person.", parsing.header_name),
    Declared(
        "login.proxy_secret",
        "Mode header: what the proxy sends as X-Aboard-Proxy-Secret, where its address is not in `serve.proxies`.",
        is_secret=True,
    ),
    Declared("login.oidc.issuer", "Mode oidc: the provider, as https://accounts.example.org.", parsing.http_url),
    Declared("login.oidc.client_id", "What the provider calls this server."),
    Declared("login.oidc.client_secret", "What proves it; none for a public client.", is_secret=True),
    Declared("login.oidc.scopes", "What the provider is asked for.", _MANY),
    Declared("login.oidc.name_claim", "The claim that becomes the name of the person; without it the e-mail address."),
    Declared("login.oidc.groups_claim", "The claim that lists the person's groups."),
    Declared("login.oidc.domains", "Only people with a verified e-mail address in these domains.", _MANY),
    Declared("login.oidc.groups", "Only people in one of these groups.", _MANY),
    Declared("login.oidc.administrators", "Groups whose people administer the server.", _MANY),
    Declared(
        "login.oidc.roles",
        "group=workspace:role. Roles in workspaces that stand here follow the groups at every login.",
        parsing.many(parsing.group_role),
    ),
    Declared("boards.limit_per_person", "Boards in the server that one person may have open; 0: any number.", _LIMIT),
    Declared("boards.process_limit_per_person", "Boards that are processes, likewise.", _LIMIT),
    Declared("boards.limit_total", "Boards of all people together; 0: any number.", _LIMIT),
    Declared(
        "boards.executors",
        "Where boards that are processes may run, each with the options that it has here, as "
        "slurm:partition=cpu. The server of one person allows all. In the variable, `;` stands between them.",
        parsing.many(between=";"),
    ),
    Declared("boards.executor", "Which of them is meant where nobody names one."),
    Declared("boards.image", "Image with TensorBoard in it, for boards in containers."),
    Declared("boards.images", "Patterns of further images that people may name, as registry.example.org/tb/*.", _MANY),
    Declared("boards.mounts", "Folders of this machine below which people may show something in a container.", _MANY),
    Declared(
        "boards.shared_folder",
        "A folder that the machines of slurm, ssh, kubernetes or another Docker daemon see under the same name: copies "
        "of the runs of boards there go into it.",
    ),
    Declared(
        "boards.tensorboard",
        "The command that starts TensorBoard on other machines and in containers; without it `tensorboard`, on nodes "
        "of Slurm the server's own.",
    ),
    Declared("boards.memory", "Memory that the process of a board may take.", parsing.size),
)
BY_KEY = {one.key: one for one in SETTINGS}
BY_FIELD = {one.field: one for one in SETTINGS}
