"""The app that a scenario's `fixture` describes, built with the library's public API.

The fields and their order are those of the format's description (`tests/conformance/README.md`). It is for
`conformance_host`, and for anyone who wants such an app behind something else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Final

import anyio

from ..actions import AnyAction, action
from ..app import Tesseron
from ..context import Context
from ..errors import ActionError, InternalError, InvalidInput, TesseronError
from ..limits import Limits
from ..resources import Emit, ResourceBuilder
from ..schema.names import Names
from ..schema.signature import Bound, HandlerSignature
from ..schema.subset import check_subset
from ..unset import UNSET

FIRST_EMIT: Final = 0.04
"""Seconds from a subscription to its first update; its acknowledgement goes out at the beginning of them."""
NEXT_EMIT: Final = 0.03
"""Seconds from an update to the next."""

_TYPES: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list[Any],
    "object": dict[str, Any],
}
_FILL: Final = "~fill:"


class FixtureError(Exception):
    """The fixture describes nothing that can be built."""


@dataclass(frozen=True, slots=True)
class FixtureApp:
    """Builds the app of a fixture, whose resources emit in the tasks of `group`.

    Example:
        ```python
        async with anyio.create_task_group() as group:
            app = FixtureApp(fixture, group).build()
        ```
    """

    fixture: Mapping[str, Any]
    group: anyio.abc.TaskGroup

    def build(self) -> Tesseron:
        """The app.

        Raises:
            FixtureError: The fixture makes no sense, or the `conformance` extra is missing.
            RegistrationError: An action or resource cannot be declared.
        """
        about, limits = self.fixture.get("app", {}), self.fixture.get("limits", {})
        given = {"frame": limits.get("frameBytes"), "handshake": _seconds(limits.get("handshakeMs"))}
        app = Tesseron(
            about.get("id", "conformance"),
            about.get("name"),
            description=about.get("description", ""),
            version=about.get("version", "0"),
            origin=about.get("origin", ""),
            icon_url=about.get("iconUrl"),
            mask_errors=about.get("maskErrors", False),
            limits=Limits(**{name: value for name, value in given.items() if value is not None}),
        )
        for each in self.fixture.get("actions", ()):
            app.add(self._action(app, each))
        for each in self.fixture.get("resources", ()):
            self._add_resource(app, each)
        return app

    def change(self, app: Tesseron, changes: Mapping[str, Any]) -> None:
        """Add and remove actions and resources of a running app."""
        for name in changes.get("removeActions", ()):
            app.remove_action(name)
        for name in changes.get("removeResources", ()):
            app.remove_resource(name)
        for each in changes.get("addActions", ()):
            app.add(self._action(app, each))
        for each in changes.get("addResources", ()):
            self._add_resource(app, each)

    def _action(self, app: Tesseron, spec: Mapping[str, Any]) -> AnyAction:
        builder = action(spec["name"]).describe(spec.get("description", spec["name"]))
        annotations = spec.get("annotations", {})
        builder = builder.annotate(
            read_only=annotations.get("readOnly"),
            destructive=annotations.get("destructive"),
            requires_confirmation=annotations.get("requiresConfirmation"),
            requires_elicitation=annotations.get("requiresElicitation"),
        )
        if "timeoutMs" in spec:
            builder = builder.timeout(_seconds(spec["timeoutMs"]))
        if "outputType" in spec:
            builder = builder.output(_TYPES[spec["outputType"]])
        if spec.get("strictOutput"):
            builder = builder.strict_output()
        if "gate" in spec:
            builder = builder.confirm(spec["gate"])

        async def handler(input: Any, ctx: Context) -> Any:
            return await self._perform(app, spec, ctx)

        schema = spec.get("inputSchema", UNSET)
        check = _checker(schema) if schema is not UNSET else None
        if isinstance(schema, dict) and schema.get("type") == "object":
            built: AnyAction = builder.input(json_schema=schema, validate=check).handler(handler)
        else:
            built = builder.input(json_schema={"type": "object"}).handler(handler)
            built.signature = _AnyInput.of(built.signature, schema, check)
        return built

    async def _perform(self, app: Tesseron, spec: Mapping[str, Any], ctx: Context) -> Any:
        """What a fixture's action does: refuse, block, report, change, ask, fail, return."""
        if spec.get("assertHandlerNotCalled"):
            raise InternalError(f"the handler of {spec['name']!r} was called, and the fixture says that it is not")
        if spec.get("blocksUntilCancelled"):
            await _block(ctx, _seconds(spec.get("reportsAfterCancelMs")))
        for each in spec.get("progress", ()):
            await ctx.progress(each.get("percent"), each.get("message"), data=each.get("data"))
        for each in spec.get("logs", ()):
            await ctx.log(each["message"], level=each.get("level", "info"), **each.get("meta", {}))
        if "changes" in spec:
            self.change(app, spec["changes"])
        if "confirms" in spec:
            confirmed = await ctx.confirm(spec["confirms"])
            if spec.get("returnsConfirmResult"):
                return {"confirmed": confirmed}
        if "elicits" in spec:
            answer = await _elicit(ctx, spec["elicits"])
            if spec.get("returnsElicitResult"):
                return {"value": answer}
        if "samples" in spec:
            content = await _sample(ctx, spec["samples"])
            if spec.get("returnsSampleResult"):
                return {"content": content}
        if "raises" in spec:
            raise _error(spec["raises"])
        if spec.get("returnsContext"):
            return {"agent": ctx.agent.to_wire(), "capabilities": ctx.capabilities.to_wire()}
        return _filled(spec.get("returns"))

    def _add_resource(self, app: Tesseron, spec: Mapping[str, Any]) -> None:
        emits: Sequence[Mapping[str, Any]] = spec.get("emits", ())
        failure = spec.get("raises")

        async def read() -> Any:
            if failure is not None:
                raise _error(failure)
            return _filled(spec.get("value"))

        subscribable = spec.get("subscribable", bool(emits))
        resource = ResourceBuilder(spec["name"], app).describe(spec.get("description", "")).subscribable(subscribable)
        if emits:
            resource = resource.subscribe(partial(self._emit, emits))
        resource.read(read)

    async def _emit(self, emits: Sequence[Mapping[str, Any]], emit: Emit) -> Callable[[], Any]:
        scope = anyio.CancelScope()

        async def run() -> None:
            with scope:
                await anyio.sleep(FIRST_EMIT)
                for each in emits:
                    emit(_filled(each["value"]))
                    await anyio.sleep(NEXT_EMIT)

        self.group.start_soon(run)
        return _in_the_loop(scope.cancel)


def _in_the_loop(fn: Callable[[], None]) -> Callable[[], Any]:
    """`fn` as an `async def`: a clean-up that is a `def` would run in a worker thread."""

    async def call() -> None:
        fn()

    return call


async def _block(ctx: Context, stubborn_for: float | None) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        if stubborn_for is not None:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(stubborn_for)
                await ctx.progress(99, "after the end")


async def _elicit(ctx: Context, spec: Mapping[str, Any]) -> Any:
    if "jsonSchema" in spec:
        check_subset(spec["jsonSchema"])  # `null` is a schema that is none, and not the lack of one
        return await ctx.elicit(spec["question"], json_schema=spec["jsonSchema"])
    return await ctx.elicit(spec["question"])


async def _sample(ctx: Context, spec: Mapping[str, Any]) -> Any:
    limit = spec.get("maxTokens")
    if "type" in spec:
        return await ctx.sample(spec["prompt"], _TYPES[spec["type"]], max_tokens=limit)
    return await ctx.sample(spec["prompt"], max_tokens=limit)


def _error(spec: Any) -> Exception:
    """What a fixture's `raises` is: a text is any exception, an object one of ours."""
    if isinstance(spec, str):
        return RuntimeError(spec)
    if "code" in spec:
        return TesseronError(spec["code"], spec["message"], spec.get("data"))
    return ActionError(spec["message"], spec.get("data"))


def _filled(value: Any) -> Any:
    """A value with `~fill:N` replaced by N times "x", so that files stay small where messages are large."""
    if isinstance(value, str) and value.startswith(_FILL):
        return "x" * int(value.removeprefix(_FILL))
    if isinstance(value, dict):
        return {key: _filled(each) for key, each in value.items()}
    return [_filled(each) for each in value] if isinstance(value, list) else value


def _seconds(milliseconds: Any) -> float | None:
    """Milliseconds as seconds; 0 is no limit."""
    return milliseconds / 1000 if milliseconds else None


def _checker(schema: Any) -> Callable[[Any], Any]:
    """What refuses an input that does not fit the schema, and lists every reason."""
    try:
        from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]  # it ships without types
        from jsonschema.validators import (  # type: ignore[import-untyped]  # as above
            Draft202012Validator,
            validator_for,
        )
    except ImportError as error:
        raise FixtureError('an "inputSchema" needs jsonschema: pip install "tesseron-py[conformance]"') from error
    cls = validator_for(schema, default=Draft202012Validator)
    try:
        cls.check_schema(schema)
    except SchemaError as error:
        raise FixtureError(f"the inputSchema {schema!r} is no JSON Schema: {error.message}") from error
    validator = cls(schema)

    def check(value: Any) -> Any:
        issues = [
            {"message": error.message, "path": list(error.absolute_path)} for error in validator.iter_errors(value)
        ]
        if issues:
            raise InvalidInput("; ".join(str(issue["message"]) for issue in issues[:5]), issues)
        return value

    return check


class _AnyInput(HandlerSignature):
    """An input that is anything at all, or whatever a schema allows whose root is no object.

    Apps do not declare such actions, since agents give named arguments; a fixture may.
    """

    __slots__ = ("_check",)
    _check: Callable[[Any], Any] | None

    @classmethod
    def of(cls, signature: HandlerSignature, schema: Any, check: Callable[[Any], Any] | None) -> _AnyInput:
        """`signature` with another schema and check."""
        made = cls(**{field.name: getattr(signature, field.name) for field in fields(signature)})
        if schema is not UNSET:
            object.__setattr__(made, "input_schema", schema)
        object.__setattr__(made, "_check", check)
        return made

    def bind(self, raw: Any) -> Bound:
        value = raw if self._check is None else self._check(raw)
        return Bound({self._value_parameter or "": value}, self.context_parameter, value, {}, Names([]))
