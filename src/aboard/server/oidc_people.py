# SPDX-License-Identifier: Apache-2.0
"""People out of the claims of an OpenID provider: who may come in, what they are called, which roles they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from aboard.errors import Forbidden, Unauthorized
from aboard.model.names import usable_name
from aboard.model.user import Role
from aboard.services.people.logins import OutsidePerson


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcPeople:
    """The rules. `roles` are `group=workspace:role`."""

    name_claim: str
    groups_claim: str
    domains: Sequence[str] = ()
    groups: Sequence[str] = ()
    administrators: Sequence[str] = ()
    roles: Sequence[str] = ()

    def person(self, issuer: str, claims: Mapping[str, object]) -> OutsidePerson:
        """Who it is, or an error for who may not come in."""
        subject = claims.get("sub")
        if not isinstance(subject, str) or not subject:
            raise Unauthorized("the provider does not say who this is")
        groups = self._groups(claims)
        self._check(claims, groups)
        return OutsidePerson(
            subject=f"{issuer}#{subject}",
            name=self._name(claims, subject),
            display_name=str(claims.get("name") or "")[:200],
            is_administrator=bool(groups & set(self.administrators)) if self.administrators else None,
            roles=self._roles(groups),
        )

    def _check(self, claims: Mapping[str, object], groups: set[str]) -> None:
        if self.domains:
            email = str(claims.get("email") or "")
            domain = email.rpartition("@")[2].lower()
            is_verified = claims.get("email_verified") is True
            if not is_verified or domain not in {one.lower().lstrip("@") for one in self.domains}:
                raise Forbidden(
                    f"the address {email!r} is not one that may log in here",
                    hint=f"allowed are verified addresses of {', '.join(self.domains)}",
                )
        if self.groups and not groups & set(self.groups):
            raise Forbidden("you are in none of the groups that may log in here", hint="ask who runs this server")

    def _groups(self, claims: Mapping[str, object]) -> set[str]:
        value = claims.get(self.groups_claim)
        if isinstance(value, str):
            return {value}
        return {str(one) for one in cast("list[object]", value)} if isinstance(value, list) else set()

    def _name(self, claims: Mapping[str, object], subject: str) -> str:
        email = claims.get("email") if claims.get("email_verified") is True else None
        found = str(claims.get(self.name_claim) or email or subject)
        return usable_name(found, "somebody")

    def _roles(self, groups: set[str]) -> dict[str, Role | None]:
        """The highest role that a person's groups give them in each workspace that the rules speak of."""
        found: dict[str, Role | None] = {}
        for rule in self.roles:
            group, _, place = rule.rpartition("=")
            workspace, _, role = place.partition(":")
            old, new = found.setdefault(workspace, None), Role(role)
            if group in groups and (old is None or new.includes(old)):
                found[workspace] = new
        return found
