"""Secrets in addresses, of requests and of upstreams: they go to the upstream and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

SECRET = "[secret]"
"""What crosses in the place of a key: always the same, so that a replay may be given another key."""

_ALWAYS = frozenset({
    "accesskey", "accesstoken", "apikey", "apitoken", "authorization", "authtoken", "awsaccesskeyid", "bearertoken",
    "clientsecret", "idtoken", "ocpapimsubscriptionkey", "passwd", "password", "privatekey", "refreshtoken", "secret",
    "secretkey", "sessiontoken", "subscriptionkey", "xamzcredential", "xamzsecuritytoken", "xamzsignature", "xapikey",
    "xgoogcredential", "xgoogsignature",
})  # fmt: skip
_IF_LONG = frozenset({"auth", "credential", "key", "pwd", "sig", "signature", "token"})
"""Names that services also give to what is no secret, such as the key of an entry."""

LONG = 16
"""Characters from which the value of such a name counts as a secret."""


def is_secret(name: str, value: str) -> bool:
    """Whether a parameter of a query is a secret, by its name.

    Args:
        name: In any case, with or without `-` and `_`.
        value: Decoded.
    """
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    return plain in _ALWAYS or (plain in _IF_LONG and len(value) >= LONG)


def restored(arguments: Mapping[str, Any], secrets: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as the upstream is given them.

    Args:
        arguments: As they crossed, perhaps altered.
        secrets: Values that were withheld, by name.
    """
    return {
        name: secrets[name] if name in secrets and value == withheld(secrets[name]) else value
        for name, value in arguments.items()
    }


def withheld(value: Any) -> Any:
    """Return what crosses in the place of one or several secrets."""
    return [SECRET] * len(value) if isinstance(value, list) else SECRET


def shown_url(url: str) -> str:
    """Return a URL for messages, which may be recorded: without user, password and query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return SECRET
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
