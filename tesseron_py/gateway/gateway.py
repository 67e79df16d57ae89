"""The gateway: finds the apps of this machine, lets agents claim them, serves what is claimed (Tesseron 1.2 §3, §9).

A claim belongs to a principal, so that all its clients see the app. Whoever is not the app's owner learns its name and
what to do; never its code, unless this gateway held a claim on the app before.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from ..directory import DirectoryProblem
from ..errors import InternalError, InvalidInput, NotFound, TesseronError, Unauthorized
from ..invocation import Done, Failed, Invocation
from ..limits import DEFAULT_LIMITS, Limits
from ..mcp.provider import Caller, Client, ServerInfo, Tool, ToolOutput, UnknownTool
from ..protocol.messages import ALL_CAPABILITIES, PENDING_AGENT, AgentInfo
from . import meta
from .claims import Breadcrumbs, Guesses, mint_code, read_code
from .dialler import Dialler, Unreachable, dial
from .discovery import Discovery
from .greeting import Greeting, Welcome
from .instances import Instance, Minted
from .provider import AppProvider, resource_uri
from .sessions import Sessions

if TYPE_CHECKING:
    from .apps import ConfirmForm, ConnectedApp

logger = logging.getLogger("tesseron_py.gateway")

INSTRUCTIONS = (
    "Apps on this machine offer actions here once they are claimed. When the person gives you a claim code such as"
    " AB3X-7K, call tesseron__claim_session with it; the app's actions then appear as tools named <app>__<action>."
)


class Gateway(AppProvider):
    """Stands between the apps of this machine and MCP clients.

    Args:
        info: Who the MCP server says it is.
        surface: Which tools clients see.
        limits: The numbers.
        confirm_form: How a confirm is put to the person; see `ConnectedApp`.
        discover: Look for running apps; else only those given to `connect` are there.

    Example:
        ```python
        gateway = Gateway(ServerInfo("tesseron-py", "0.1.0"))
        await gateway.open()
        await serve_stdin_stdout(gateway)
        ```
    """

    def __init__(
        self,
        info: ServerInfo,
        *,
        surface: meta.Surface = "both",
        limits: Limits = DEFAULT_LIMITS,
        confirm_form: ConfirmForm = "approve",
        discover: bool = True,
    ) -> None:
        super().__init__(info, limits=limits, confirm_form=confirm_form)
        self._surface: meta.Surface = surface
        self._discover = discover
        self._opened = False
        self._discovery = Discovery(self._instance_changed)
        self._sessions = Sessions()
        self._dialler = Dialler(
            self.home, self.connect, is_mine=lambda session: session in self._sessions, limit=limits.frame
        )
        self._breadcrumbs = Breadcrumbs()
        self._guesses = Guesses()
        self._pending: dict[str, ConnectedApp] = {}
        self._claiming: dict[ConnectedApp, tuple[Minted, Client]] = {}
        self._since: dict[ConnectedApp, float] = {}
        self._held: dict[str, tuple[str, str]] = {}

    async def open(self) -> None:
        """Open its home and begin to look for apps."""
        await self.home.open()
        if not self._opened:
            self._opened = True
            _load()
            self._breadcrumbs.sweep()
            if self._discover:
                self.home.start(self._watch, name="discovery")

    async def _watch(self) -> None:
        try:
            await self._discovery.run()
        except DirectoryProblem as problem:
            logger.error("Apps on this machine cannot be found: %s", problem)

    async def aclose(self, *, grace: float | None = None) -> None:
        self._breadcrumbs.remove_all()
        await super().aclose(grace=grace)

    def _instance_changed(self, file: Path, instance: Instance | None) -> None:
        self._dialler.change(file, instance)
        self.tell_changed()

    # What apps say and what becomes of them

    def welcome(self, app: ConnectedApp, greeting: Greeting) -> Welcome:
        if greeting.session_id is not None:
            welcome = self._sessions.resume(greeting, is_known=app.has_answer)
            for other in self._apps:
                if other.welcome is not None and other.welcome.session_id == welcome.session_id:
                    other.close()  # the connection before, whose end was not seen yet
            return welcome
        if app in self._claiming:
            minted, client = self._claiming[app]
            return Welcome(
                minted.session_id,
                resume_token=minted.resume_token,
                agent=agent_of(client),
                principal=client.principal,
            )
        return Welcome(
            f"s_{secrets.token_urlsafe(18)}",
            resume_token=secrets.token_urlsafe(32),
            claim_code=mint_code(),
            agent=agent_of(next(reversed(self._clients), None)),
        )

    def joined(self, app: ConnectedApp) -> None:
        assert app.welcome is not None
        assert app.info is not None
        self._since[app] = time.time()
        if app.principal is None:
            code = app.welcome.claim_code or ""
            self._pending[code] = app
            self._breadcrumbs.write(code, app.welcome.session_id, app.info)
        else:
            self._owned(app, app.principal, app.welcome.agent)
        super().joined(app)
        self.follow_again(app)

    def left(self, app: ConnectedApp) -> None:
        self._since.pop(app, None)
        if app.welcome is not None and app.welcome.claim_code is not None:
            self._pending.pop(app.welcome.claim_code, None)
            self._breadcrumbs.remove(app.welcome.claim_code)
        super().left(app)

    def _owned(self, app: ConnectedApp, principal: str, agent: AgentInfo) -> None:
        assert app.info is not None
        assert app.welcome is not None
        self._held[app.info.id] = (principal, app.info.name)
        self._sessions.keep(app.welcome, app.info.id, agent, principal)

    # Claims

    def _claim(self, code: str, client: Client) -> Invocation:
        invocation = self._invocation()
        self.home.start(self._claim_in_time, code, client, invocation, name="claim")
        return invocation

    async def _claim_in_time(self, code: str, client: Client, invocation: Invocation) -> None:
        try:
            with anyio.fail_after(self._limits.handshake):
                app = await self._claimed_app(code, client)
            invocation.finish(Done(ToolOutput(self._about(app))))
        except TesseronError as error:
            invocation.finish(Failed(error))
        except TimeoutError:
            invocation.finish(Failed(InternalError("The app did not answer in time; try again, or restart it")))
        finally:
            invocation.lose("The gateway closed")

    async def _claimed_app(self, text: str, client: Client) -> ConnectedApp:
        if self._guesses.exhausted:
            raise Unauthorized("Too many wrong claim codes; wait a minute, and ask the person for the right one")
        code = read_code(text)
        if code is None:
            raise InvalidInput("A claim code looks like AB3X-7K; ask the person to read it from the app")
        app = self._pending.pop(code, None)
        if app is not None and app.is_live:
            self._guesses.right()
            self._breadcrumbs.remove(code)
            app.claim(client.principal, agent_of(client), ALL_CAPABILITIES)
            self._owned(app, client.principal, agent_of(client))
            self.tell_changed()
            self.follow_again(app)
            return app
        try:
            self._discovery.look()
        except DirectoryProblem as problem:
            raise InternalError(f"Apps on this machine cannot be found: {problem}") from problem
        for instance in self._discovery.instances.values():
            if instance.minted is not None and instance.minted.is_of(code):
                self._guesses.right()
                return await self._dial_with_code(instance, instance.minted, client)
        breadcrumb = self._breadcrumbs.find(code)
        if breadcrumb is not None:
            raise Unauthorized(
                f"That code is of the app {breadcrumb.app_name!r} at another gateway, process {breadcrumb.gateway_pid}:"
                " give it to the agent that is connected to that gateway, or restart the app to get a code for this one"
            )
        self._guesses.wrong()
        raise Unauthorized(
            "No app on this machine has that claim code. It may be mistyped, used already, or of an app that has ended;"
            " ask the person to read the code that the app shows now"
        )

    async def _dial_with_code(self, instance: Instance, minted: Minted, client: Client) -> ConnectedApp:
        try:
            channel = await dial(instance.place, code=minted.code, limit=self._limits.frame)
        except Unreachable as problem:
            raise Unauthorized(f"The app {instance.app_name!r} did not take the claim: {problem}") from problem
        from .apps import ConnectedApp

        app = ConnectedApp(channel, self.home, self, limits=self._limits, confirm_form=self._confirm_form)
        self._claiming[app] = (minted, client)
        try:
            self.home.start(app.run, name="connection to an app")
            await app.greeted.wait()
        finally:
            del self._claiming[app]
        if app.refusal is not None:
            raise Unauthorized(f"The hello of {instance.app_name!r} was refused: {app.refusal.message}")
        if app.info is None:
            raise InternalError(f"The app {instance.app_name!r} closed the connection before it said hello")
        app.claim(client.principal, agent_of(client), ALL_CAPABILITIES)
        return app

    # What clients see

    def tools(self, client: Client) -> Sequence[Tool]:
        own = meta.listed(self._surface)
        return own if self._surface == "meta" else [*own, *super().tools(client)]

    def call_tool(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> Invocation:
        if any(tool.name == name for tool in meta.listed(self._surface)):
            try:
                return self._call_own(name, arguments, caller)
            except meta.BadArguments as problem:
                return self._failed(InvalidInput(problem.message, [{"message": problem.message, "path": []}]))
            except TesseronError as error:
                return self._failed(error)
        try:
            if self._surface == "meta":
                raise UnknownTool(f"There is no tool {name!r}; call {meta.INVOKE}")
            return super().call_tool(name, arguments, caller)
        except UnknownTool as unknown:
            for app_id in self._known_apps(caller.client):
                if name.startswith(f"{app_id}__") and app_id not in self.apps_of(caller.client):
                    return self._failed(self._not_claimed(app_id, caller.client))
            waiting = [repr(entry["app_name"]) for entry in self._waiting(caller.client)] if "__" in name else []
            if waiting:  # what tools they have is not known before they are claimed
                raise UnknownTool(
                    f"{unknown.args[0]}. Not claimed yet: {', '.join(waiting)}; ask the person for the claim code that"
                    f" is shown there, and call {meta.CLAIM}"
                ) from None
            raise

    def _call_own(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> Invocation:
        client = caller.client
        match name:
            case meta.CLAIM:
                return self._claim(meta.text(arguments, "code"), client)
            case meta.LIST:
                return self._done([self._about(app) for app in self.apps_of(client).values()])
            case meta.PENDING:
                return self._done(self._waiting(client))
            case meta.INVOKE:
                action, args = meta.text(arguments, "action"), arguments.get("args")
                if args is not None and not isinstance(args, Mapping):
                    raise meta.BadArguments("args: an object is required")
                app = self._app(meta.text(arguments, "app_id"), client)
                app.find_action(action)
                return app.invoke(action, args if args is not None else {}, caller)
        app_id, resource = meta.text(arguments, "app_id"), meta.text(arguments, "name")
        app = self._app(app_id, client)
        if resource not in app.resources:
            raise NotFound(f"Unknown resource: {resource}")
        invocation = self._invocation()
        read = app.read(resource, resource_uri(app_id, resource))
        read.then(
            lambda outcome: invocation.finish(
                Done(meta.resource_output(outcome.value)) if isinstance(outcome, Done) else outcome
            )
        )
        return invocation

    def _app(self, app_id: str, client: Client) -> ConnectedApp:
        app = self.apps_of(client).get(app_id)
        if app is None:
            raise self._not_claimed(app_id, client)
        return app

    def _known_apps(self, client: Client) -> set[str]:
        held = {id for id, (principal, _) in self._held.items() if principal == client.principal}
        return held | {app.info.id for app in self._pending.values() if app.info is not None}

    def _not_claimed(self, app_id: str, client: Client) -> TesseronError:
        """What to tell of an app that is not this client's: its name and what to do; its code only for a recovery."""
        for code, app in self._pending.items():
            if app.info is not None and app.info.id == app_id:
                ask = "ask the person for the claim code that it shows"
                if self._may_recover(app_id, client):
                    ask = f"its claim code is {code}, since this gateway held it before"
                return Unauthorized(
                    f"The app {app.info.name!r} is connected and waits to be claimed: {ask}, and call {meta.CLAIM}"
                )
        if self._may_recover(app_id, client):
            return Unauthorized(
                f"The app {self._held[app_id][1]!r} is not connected any more. When it runs again and shows a claim"
                f" code, ask the person for it and call {meta.CLAIM}"
            )
        return NotFound(f"There is no connected app {app_id!r}; {meta.LIST} lists those there are")

    def _may_recover(self, app_id: str, client: Client) -> bool:
        return app_id in self._held and self._held[app_id][0] == client.principal

    def _waiting(self, client: Client) -> list[dict[str, Any]]:
        now = time.time()
        waiting: list[dict[str, Any]] = []
        for code, app in self._pending.items():
            if app.info is None:
                continue
            age = round(now - self._since.get(app, now))
            entry: dict[str, Any] = {"app_id": app.info.id, "app_name": app.info.name, "age_seconds": age}
            if self._may_recover(app.info.id, client):
                entry["code"] = code
            waiting.append(entry)
        connected = {app.welcome.session_id for app in self._apps if app.welcome is not None}
        for instance in self._discovery.instances.values():
            minted = instance.minted
            if minted is not None and minted.bound_agent is None and minted.session_id not in connected:
                age = round(max(0.0, now - instance.added_at / 1000)) if instance.added_at else 0
                waiting.append({"app_name": instance.app_name, "age_seconds": age})
        return waiting

    def _about(self, app: ConnectedApp) -> dict[str, Any]:
        assert app.info is not None
        about: dict[str, Any] = {"app_id": app.info.id, "app_name": app.info.name}
        if app.info.description:
            about["description"] = app.info.description
        about["actions"] = [
            {"name": entry.name, "description": entry.description, "inputSchema": entry.input_schema}
            for entry in app.actions.values()
        ]
        about["resources"] = [
            {"name": entry.name, "description": entry.description} for entry in app.resources.values()
        ]
        return about

    def _invocation(self) -> Invocation:
        return Invocation(self.home, deadline=self._limits.question, max_questions=self._limits.questions)

    def _done(self, value: Any) -> Invocation:
        invocation = self._invocation()
        invocation.finish(Done(ToolOutput(value)))
        return invocation

    def _failed(self, error: TesseronError) -> Invocation:
        invocation = self._invocation()
        invocation.finish(Failed(error))
        return invocation


def _load() -> None:
    """Import what the first app needs.

    It takes a quarter of the time that a gateway needs to start, so no client's first reply waits for it; nor does the
    first claim.
    """
    from ..bindings import unix, websocket  # noqa: F401  # the import is all
    from . import apps  # noqa: F401  # the import is all


def agent_of(client: Client | None) -> AgentInfo:
    """The agent that an app is told of."""
    return PENDING_AGENT if client is None else AgentInfo(client.name, client.name)
