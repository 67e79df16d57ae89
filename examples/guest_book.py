"""A guest book whose pages come from threads without an event loop, as those of Flask and Django do.

python examples/guest_book.py 8000
claude mcp add tesseron -- tesseron-py gateway

Agents are served by one more thread. The page /agent says how an agent gets in.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from socketserver import ThreadingMixIn
from threading import Lock
from typing import Annotated
from wsgiref.simple_server import WSGIServer, make_server
from wsgiref.types import StartResponse, WSGIEnvironment

from pydantic import Field

from tesseron_py import ActionError, SyncContext, SyncHost, Tesseron

app = Tesseron("guests", "The guest book")

entries: list[str] = ["What a fine place!", "Buy cheap watches!!!"]
lock = Lock()  # pages and actions run in threads of their own


@app.action
def write_entry(text: Annotated[str, Field(min_length=1, max_length=200)]) -> int:
    """Write into the guest book. Gives how many entries there are."""
    with lock:
        entries.append(text)
        return len(entries)


@app.action("list_entries").annotate(read_only=True)
def list_entries() -> list[str]:
    """Every entry."""
    with lock:
        return list(entries)


@app.action
def remove_entry(number: Annotated[int, Field(ge=1)], ctx: SyncContext) -> list[str]:
    """Remove an entry by its number; the person confirms it. Gives what is left."""
    with lock:
        if number > len(entries):
            raise ActionError(f"There are {len(entries)} entries")
        text = entries[number - 1]
    if ctx.confirm(f"Remove the entry “{text}”?"):  # not while the lock is held: a person may take long
        with lock, suppress(ValueError):
            entries.remove(text)
    return list_entries()


def agent_page(host: SyncHost) -> str:
    """Who has the guest book, or how to get it: for whoever runs the program, and nobody else."""
    code = host.claim_code
    return f"Tell your agent: claim the Tesseron session {code}" if code else f"{host.agent.name} has the guest book."


def pages(host: SyncHost, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """The web application; in Flask, two routes."""
    match environ["PATH_INFO"]:
        case "/":
            status, text = "200 OK", "\n".join(list_entries())
        case "/agent":
            status, text = "200 OK", agent_page(host)
        case _:
            status, text = "404 Not Found", "There is nothing here."
    start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
    return [f"{text}\n".encode()]


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


if __name__ == "__main__":
    with app.start() as host, suppress(KeyboardInterrupt):
        address = ("127.0.0.1", int(sys.argv[1]))
        with make_server(*address, lambda *request: pages(host, *request), Server) as server:
            print(f"Pages at http://127.0.0.1:{address[1]}/", file=sys.stderr, flush=True)
            server.serve_forever()
