"""The addresses of servers, and the name under which a model is known from one run to the next."""

import re
from urllib.parse import urlsplit


def api_root(endpoint: str) -> str:
    """Return the base URL of the API: the endpoint as given, or with `/v1` if it has no path.

    The query is left out, because paths are added to this; `query_of` returns it. A socket in the file system is
    written as `unix:///run/model.sock`, or with the path of the API behind a colon.
    """
    endpoint = re.split(r"[?#]", endpoint)[0].rstrip("/")
    if endpoint.startswith("unix:"):
        socket, _, path = endpoint.removeprefix("unix:").partition(":")
        return f"unix://{'/' + socket.lstrip('/')}:{path or '/v1'}"
    try:
        return endpoint if urlsplit(endpoint).path else f"{endpoint}/v1"
    except ValueError:  # reported when a request is sent
        return endpoint


def query_of(endpoint: str) -> str:
    """Return the query of an endpoint, such as `api-version=1`, which goes with every request."""
    return endpoint.partition("#")[0].partition("?")[2]


def server_root(endpoint: str) -> str:
    """Return the URL of the server without the `/v1` of its API."""
    return endpoint.rstrip("/").removesuffix("/v1").rstrip("/")


def model_identity(kind: str, name: str, *, endpoint: str = "", model: str = "", weights: str = "") -> str:
    """Return what identifies the model of a preset: the server and its name there, or the file of its weights.

    Two presets with the same model share what is known about it. A password or a key in the URL is left out.
    """
    if kind == "embedded":
        return f"embedded {weights}"
    if kind == "scripted":
        return f"script:{name}"
    return f"{re.sub(r'//[^/]*@', '//', api_root(endpoint))} {model or name}"
