"""`Tesseron`: the application an author declares actions and resources on, and runs.

It holds what was declared and tells whoever carries it (a host session, a direct server) when that changes. How it is
carried is imported only when it runs.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Final, Literal, ParamSpec, TypeAlias, TypeVar, overload

from .actions import Action, ActionBuilder, AnyAction, declare
from .errors import RegistrationError
from .limits import DEFAULT_LIMITS, Limits
from .protocol.messages import APP_ID, MAX_TOOL_NAME, RESERVED_APP_IDS
from .resources import Resource, ResourceBuilder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from .bindings.memory import MemoryChannel
    from .direct import AppEndpoint
    from .host.host import Host
    from .host.sync_host import SyncHost
    from .workers import Workers

logger = logging.getLogger("tesseron_py.app")

P = ParamSpec("P")
R = TypeVar("R")

Lifespan: TypeAlias = Callable[["Tesseron"], AbstractAsyncContextManager[Any]]
_LAST_STEP: Final = {"action": "handler", "resource": "read"}
Changed: TypeAlias = Callable[[Literal["actions", "resources"]], None]


class Tesseron:
    """An application that offers actions and resources to agents.

    Args:
        id: `^[a-z][a-z0-9_]*$`, without `__` in it or `_` at its end; `tesseron`, `mcp` and `system` are reserved. Tool
            names begin with it.
        name: What people read; by default the id.
        description: What the app is, for people and agents.
        version: The app's own version.
        origin: Where it comes from, such as a URL; for people.
        icon_url: A picture of it.
        lifespan: An async context manager of the app, entered around every way to run; what it yields is `ctx.state`.
        mask_errors: Tell agents a neutral text with a reference in place of an exception's own; the log has both.
        threads: How many `def` handlers run at once.
        limits: Every number that can be configured.

    Raises:
        ValueError: The id is not one, or `threads` is no number of threads.
        TypeError: `lifespan` is no function.

    Example:
        ```python
        app = Tesseron("shop", "The shop")

        @app.action
        async def clear_cart(ctx: Context) -> bool:
            \"\"\"Empty the cart.\"\"\"
            return await ctx.confirm("Empty the cart?") and cart.clear()
        ```
    """

    def __init__(
        self,
        id: str,
        name: str | None = None,
        *,
        description: str = "",
        version: str = "0",
        origin: str = "",
        icon_url: str | None = None,
        lifespan: Lifespan | None = None,
        mask_errors: bool = False,
        threads: int = 40,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        _check_id(id)
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise ValueError(f"threads is a number of threads, 1 or more; not {threads!r}")
        _check_lifespan(lifespan)
        self.id: str = id
        """The app's id, which its tool names begin with."""
        self.name: str = name if name is not None else id
        """What people read."""
        self.description: str = description
        self.version: str = version
        self.origin: str = origin
        self.icon_url: str | None = icon_url
        self.lifespan: Lifespan | None = lifespan
        self.mask_errors: bool = mask_errors
        self.limits: Limits = limits
        self.threads: int = threads
        self._workers: Workers | None = None
        self._lock = threading.Lock()
        self._actions: dict[str, AnyAction] = {}
        self._resources: dict[str, Resource] = {}
        self._begun: set[tuple[str, str]] = set()
        self._watchers: list[Changed] = []

    def __repr__(self) -> str:
        return f"<Tesseron {self.id}: {len(self._actions)} actions, {len(self._resources)} resources>"

    @property
    def workers(self) -> Workers:
        """The threads of its `def` handlers."""
        with self._lock:
            if self._workers is None:
                from .workers import Workers

                self._workers = Workers(self.threads)
            return self._workers

    # Declaring

    @overload
    def action(self, name: Callable[P, R], /) -> Action[P, R]: ...
    @overload
    def action(self, name: str | None = None, /) -> ActionBuilder: ...
    def action(self, name: Any = None, /) -> Any:
        """Declare an action: `@app.action` on a function, or `app.action("name")` and the steps of `ActionBuilder`.

        Raises:
            RegistrationError: It cannot be declared like this; the message says where and how to mend it.
        """
        if isinstance(name, str):
            self._begun.add(("action", name))
        return declare(name, self)

    @overload
    def resource(self, name: str) -> ResourceBuilder: ...
    @overload
    def resource(self, name: Callable[[], Any], /) -> Resource: ...
    def resource(self, name: Any) -> Any:
        """Declare a resource: `app.resource("stats").read(read_stats)`; the steps are those of `ResourceBuilder`.

        As a decorator, `@app.resource` or `@app.resource("stats")`, it takes the function that reads it.

        Raises:
            RegistrationError: It cannot be declared like this.
        """
        if inspect.isroutine(name):
            return ResourceBuilder(name.__name__, self).read(name)
        builder = ResourceBuilder(name, self)
        self._begun.add(("resource", name))
        return builder

    def add(self, item: AnyAction | Resource) -> None:
        """Add an action or a resource, also during a connection and from any thread.

        Raises:
            RegistrationError: Another one has that name, or the tool name would be above 64 characters.
        """
        if isinstance(item, Action):
            tool = f"{self.id}__{item.name}"
            if len(tool) > MAX_TOOL_NAME:
                raise RegistrationError(
                    f"{_place_of(item)}: the tool name {tool!r} is {len(tool)} characters long"
                    f" and may be {MAX_TOOL_NAME};"
                    f' give the action a shorter name: app.action("{self._legal_name(item)}").handler(…)'
                )
            with self._lock:
                if item.name in self._actions:
                    raise RegistrationError(
                        f"{_place_of(item)}: there is an action {item.name!r} already, {_other(self._actions, item)};"
                        f' give this one another name, app.action("{self._legal_name(item)}"),'
                        f' or remove that one first: app.remove_action("{item.name}")'
                    )
                self._actions[item.name] = item
                self._begun.discard(("action", item.name))
            self._changed("actions")
        elif isinstance(item, Resource):
            with self._lock:
                if item.name in self._resources:
                    raise RegistrationError(
                        f"{_place_of(item)}: there is a resource {item.name!r} already,"
                        f" {_other(self._resources, item)};"
                        f' give this one another name, or remove that one first: app.remove_resource("{item.name}")'
                    )
                self._resources[item.name] = item
                self._begun.discard(("resource", item.name))
            self._changed("resources")
        else:
            is_builder = hasattr(item, "describe")
            mend = (
                "end its steps with .handler(fn) or .read(fn)"
                if is_builder
                else "a function becomes one with @app.action"
            )
            raise RegistrationError(f"add(…) takes an action or a resource, not {item!r}; {mend}")

    def _legal_name(self, action: AnyAction) -> str:
        from .schema.naming import legal_name  # only where something is wrong

        return legal_name(action.name, taken=self._actions, longest=MAX_TOOL_NAME - len(f"{self.id}__"))

    def remove_action(self, name: str) -> None:
        """Take an action away, also during a connection; its running calls go on.

        Raises:
            KeyError: There is none of that name.
        """
        with self._lock:
            if name not in self._actions:
                raise KeyError(_none_of("action", name, self._actions))
            del self._actions[name]
        self._changed("actions")

    def remove_resource(self, name: str) -> None:
        """Take a resource away, also during a connection; its subscriptions end.

        Raises:
            KeyError: There is none of that name.
        """
        with self._lock:
            if name not in self._resources:
                raise KeyError(_none_of("resource", name, self._resources))
            del self._resources[name]
        self._changed("resources")

    @property
    def actions(self) -> dict[str, AnyAction]:
        """The actions, by name, in the order they were added. A copy."""
        with self._lock:
            return dict(self._actions)

    @property
    def resources(self) -> dict[str, Resource]:
        """The resources, by name, in the order they were added. A copy."""
        with self._lock:
            return dict(self._resources)

    def find_action(self, name: str) -> AnyAction | None:
        """The action of that name."""
        return self._actions.get(name)

    def find_resource(self, name: str) -> Resource | None:
        """The resource of that name."""
        return self._resources.get(name)

    def watch(self, changed: Changed) -> Callable[[], None]:
        """Have `changed("actions" | "resources")` called by whoever changes them, until the result is called."""
        self._warn_of_begun()
        with self._lock:
            self._watchers.append(changed)

        def stop() -> None:
            with self._lock:
                if changed in self._watchers:
                    self._watchers.remove(changed)

        return stop

    def _warn_of_begun(self) -> None:
        """Warn of what has no function, once: whoever writes the steps and forgets the last one sees no error."""
        begun, self._begun = self._begun, set()
        for kind, name in sorted(begun):
            logger.warning(
                "The %s %r was begun with app.%s(…) and not ended, so no agent sees it; end it with .%s(fn), or use it"
                " as a decorator",
                kind,
                name,
                kind,
                _LAST_STEP[kind],
            )

    # Running

    def listen(
        self,
        binding: Literal["ws", "uds"] = "ws",
        *,
        claims: Literal["host", "gateway"] = "host",
        port: int = 0,
        pairing: str | Path | None = None,
    ) -> Host:
        """Listen for gateways on this machine: `async with app.listen() as host:` serves while the body runs.

        Args:
            binding: How: `"ws"`, a WebSocket on 127.0.0.1, or `"uds"`, a Unix socket.
            claims: Who mints the claim code: `"host"`, this app, so that the person's paste decides which gateway gets
                it; or `"gateway"`, the first gateway that finds it.
            port: Which port of the WebSocket; 0 lets the system choose one.
            pairing: A file that keeps the pairing over a restart, with mode 0600; by default it ends with the process.

        Raises:
            ValueError: The binding or who mints the claims is none of these.

        Example:
            ```python
            async with app.listen() as host:
                print(host.claim_code)
                await host.claimed()
            ```
        """
        from .host.listening import listening_host

        return listening_host(self, binding, claims=claims, port=port, pairing=pairing)

    def connect(self, url: str | None = None, *, token: str | None = None, pairing: str | Path | None = None) -> Host:
        """Connect to a gateway over HTTP: `async with app.connect() as host:` serves while the body runs.

        For apps that no gateway can dial: in a container, on another machine, behind NAT. The gateway, `tesseron-py
        gateway --http`, mints the claim code. The connection is there when the body begins, and is made again, and the
        session resumed, whenever it is lost.

        Args:
            url: The gateway's, such as `https://gateway.example`; by default the one of this user on this machine that
                started last.
            token: The gateway's bearer token; by default `$TESSERON_TOKEN`, or what the gateway at `url` has left on
                this machine for apps of this user.
            pairing: As for `listen`.

        Raises:
            ValueError: The URL is none.
            ConnectionError: On entering: the gateway cannot be reached, or does not let the app in.

        Example:
            ```python
            async with app.connect("http://127.0.0.1:7475", token=os.environ["TESSERON_TOKEN"]) as host:
                print(host.claim_code)
                await host.claimed()
            ```
        """
        from .host.dialling import dialling_host

        return dialling_host(self, url, token=token, pairing=pairing)

    async def serve(
        self,
        binding: Literal["ws", "uds"] = "ws",
        *,
        claims: Literal["host", "gateway"] = "host",
        port: int = 0,
        pairing: str | Path | None = None,
    ) -> None:
        """Listen and serve until cancelled, inside a running event loop (asyncio or trio).

        Its parameters are those of `listen`.
        """
        import anyio

        async with self.listen(binding, claims=claims, port=port, pairing=pairing) as host:
            logger.info("%s listens on %s", self.id, host.url)
            await anyio.sleep_forever()

    def run(
        self,
        binding: Literal["ws", "uds"] = "ws",
        *,
        claims: Literal["host", "gateway"] = "host",
        port: int = 0,
        pairing: str | Path | None = None,
    ) -> None:
        """Listen, show the claim code, and serve until Ctrl-C or SIGTERM. Blocks. Its parameters are those of `listen`.

        Raises:
            RuntimeError: An event loop runs already; write `await app.serve()` there.
        """
        from .running import run_app

        run_app(self, self.listen(binding, claims=claims, port=port, pairing=pairing))

    def start(
        self,
        binding: Literal["ws", "uds"] = "ws",
        *,
        dispatch: Callable[[Callable[[], None]], object] | None = None,
        claims: Literal["host", "gateway"] = "host",
        port: int = 0,
        pairing: str | Path | None = None,
    ) -> SyncHost:
        """Serve from a background thread: for Flask, Django, Tk, Qt, notebooks.

        Args:
            binding: As for `listen`.
            dispatch: Runs `def` handlers: it is given a function without parameters and has it called once, in the
                thread it likes. For a GUI, something like `lambda fn: root.after(0, fn)`.
            claims: As for `listen`.
            port: As for `listen`.
            pairing: As for `listen`.

        Raises:
            TypeError: `dispatch` is no function.

        Example:
            ```python
            with app.start() as host:
                print(host.claim_code)
                host.wait_claimed(timeout=60)
            ```
        """
        from .host.sync_host import SyncHost

        return SyncHost(self, binding, dispatch=dispatch, claims=claims, port=port, pairing=pairing)

    def asgi(
        self,
        path: str = "/mcp",
        *,
        token: str | None = None,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        limits: Limits | None = None,
        state_keys: Iterable[str] = (),
    ) -> AppEndpoint:
        """The app itself as an MCP server: a plain ASGI application, for any ASGI server or as a mount.

        Args:
            path: Where MCP is, below the `root_path` of a mount.
            token: The bearer token that every request must carry; `None` needs none, for loopback alone.
            hosts: Host names besides the loopback ones that the server goes by.
            origins: Origins besides the loopback ones whose pages may call it.
            limits: The numbers for whoever is served here; by default the app's.
            state_keys: Secrets of at least 16 characters with which the `requestState` of a call that asks is sealed
                (MCP 2026-07-28); the first seals, all of them open. By default one that lives as long as the process.

        Raises:
            ValueError: The path, a host, an origin, the token or a state key is none.

        Example:
            ```python
            api = FastAPI()
            api.mount("/", app.asgi())
            ```
        """
        from .direct import AppEndpoint, DirectServer

        return AppEndpoint(
            DirectServer(self, limits=limits),
            path=path,
            token=token,
            hosts=hosts,
            origins=origins,
            limits=limits if limits is not None else self.limits,
            state_keys=tuple(state_keys),
        )

    async def serve_mcp(self) -> None:
        """The app itself as an MCP server on this process's standard input and output, until the input ends."""
        from .direct import DirectServer, endpoint_limits
        from .mcp.stdio import serve_stdin_stdout

        server = DirectServer(self)
        try:
            await serve_stdin_stdout(server, limits=endpoint_limits(self.limits))
        finally:
            await server.aclose()

    def _memory_endpoint(self) -> AbstractAsyncContextManager[MemoryChannel]:
        from .direct import memory_endpoint

        return memory_endpoint(self)

    def _changed(self, what: Literal["actions", "resources"]) -> None:
        with self._lock:
            watchers = tuple(self._watchers)
        for changed in watchers:
            changed(what)


def _check_id(id: str) -> None:
    if not isinstance(id, str) or APP_ID.fullmatch(id) is None:
        raise ValueError(f"an app's id is lower-case letters, digits and _, a letter first; not {id!r}")
    if id in RESERVED_APP_IDS:
        raise ValueError(f"the id {id!r} is reserved; take another")
    if "__" in id or id.endswith("_"):
        raise ValueError(f"the id {id!r} has __ in it or ends in _, where gateways split tool names; take another")


def _check_lifespan(lifespan: object) -> None:
    if lifespan is None:
        return
    if hasattr(lifespan, "__aenter__"):  # it can be called, too: as a decorator
        raise TypeError("lifespan is the function itself, which the app calls when it runs; leave out the (…) after it")
    if not callable(lifespan):
        raise TypeError(
            f"lifespan is a function of the app that gives an async context manager, not {lifespan!r};"
            " put @asynccontextmanager above an `async def` that yields once"
        )


def _none_of(what: str, name: object, declared: Mapping[str, object]) -> str:
    import difflib  # only where something is wrong

    close = difflib.get_close_matches(str(name), declared, n=1)
    if close:
        return f"there is no {what} {name!r}; did you mean {close[0]!r}?"
    return f"there is no {what} {name!r}; there are {', '.join(declared) or 'none'}"


def _place_of(item: AnyAction | Resource) -> str:
    from .schema.handler import place_of  # only where something is wrong

    return place_of(item.fn if isinstance(item, Action) else item.read_value)


def _other(declared: Mapping[str, AnyAction | Resource], item: AnyAction | Resource) -> str:
    first = declared[item.name]
    return "this very one" if first is item else _place_of(first)
