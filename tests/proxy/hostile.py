"""What callers that mean harm send to models, services and MCP servers behind the proxy."""

from __future__ import annotations

LOGIN = {"set-cookie": "session=of-a"}
"""What any client sends back."""

STRICT_LOGIN = {"set-cookie": "session=of-a; Domain=shop.example; Path=/; Secure; HttpOnly"}
"""What no client would send back to loopback over HTTP."""

CANARY = "canary-0123456789-secret"

DEEP = {
    "brackets": b"[" * 200_000,
    "closed brackets": b"[" * 200_000 + b"]" * 200_000,
    "braces": b'{"a":' * 200_000,
    "in a request": b'{"model": "m", "messages": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "a little too deep": b'{"messages": ' + b"[" * 80 + b"]" * 80 + b"}",
    "below Python's limit": b'{"messages": ' + b"[" * 700 + b"]" * 700 + b"}",
}
"""Bodies that nest too deeply."""

REFUSED = {
    "another host": ({"host": "evil.example"}, "the request is for the host 'evil.example'"),
    "another host and our port": ({"host": "evil.example:{port}"}, "the request is for the host 'evil.example:"),
    "a host that begins like ours": ({"host": "127.0.0.1.evil.example"}, "the request is for the host"),
    "a host that ends like ours": ({"host": "evil.localhost:80"}, "the request is for the host"),
    "a page": ({"origin": "https://evil.example"}, "comes from a page of 'https://evil.example'"),
    "a page on loopback": ({"origin": "http://127.0.0.1:{port}"}, "comes from a page of 'http://127.0.0.1:"),
    "a page without an origin": ({"origin": "null"}, "comes from a page of 'null'"),
    "an image": ({"sec-fetch-site": "cross-site"}, "comes from a page in a browser (cross-site)"),
}
"""Headers of requests that are refused, with what is said."""
