"""Signatures of the package, each with one that says less, and the line of the type tests that notices."""

from __future__ import annotations

from dataclasses import dataclass

from .checking import CHECKERS, Checker


@dataclass(frozen=True)
class Loosened:
    """A signature that says less.

    Attributes:
        copy: Which copy of the package it is made in, unless alone.
        module: The file, below the package.
        tight: What stands there, once.
        loose: What stands there instead.
        seen: A piece of the lines in `FILES` of which one is reported then, or no longer is.
        by: Who says so.
    """

    copy: int
    module: str
    tight: str
    loose: str
    seen: str
    by: tuple[Checker, ...] = tuple(CHECKERS.values())


PLAIN_CALL = "    def __call__(self, fn: Callable[P, R]) -> Action[P, R]:"
PLAIN_HANDLER = "    def handler(self, fn: Callable[P, R]) -> Action[P, R]:"
TYPED_HANDLER = "    def handler(self, fn: Callable[Concatenate[T, P], R]) -> Action[Concatenate[T, P], R]: ..."
TYPED_CALL = "    def __call__(self, fn: Callable[Concatenate[T, P], R]) -> Action[Concatenate[T, P], R]: ..."
CONTEXT_FIRST = "    def handler(self, fn: Callable[[Context, T], R]) -> Action[[Context, T], R]: ..."
ELICIT = "    def elicit(self, question: str, schema: type[T], *, key: str | None = None) -> "
ELICIT_FORM = "    def elicit(self, question: str, schema: TypeForm[T], *, key: str | None = None) -> "

PLAIN_AGENT = """    def __init__(
        self,
        app: Target,
        answers: Answers = (),
        *,
        elicitation: bool = True,
        sampling: Callable[[str], str | Awaitable[str]] | None = None,
        era: EraChoice = "auto",
        name: str = "test-agent",
        dispatch: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:"""
FACTORY = PLAIN_AGENT.replace("__init__", "__call__").replace("-> None:", "-> SyncAgent:")

LOOSENED = {
    # Actions
    "a call takes anything": Loosened(
        1,
        "actions.py",
        "    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:\n        return self.fn(*args, **kwargs)",
        "    def __call__(self, *args: Any, **kwargs: Any) -> R_co:\n        return self.fn(*args, **kwargs)",
        "    await add(1)",
    ),
    "a call returns anything": Loosened(
        2,
        "actions.py",
        "    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:",
        "    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:",
        'assert_type(take("x", amount=2), int)',
    ),
    "a bare decorator loses the parameters": Loosened(
        2,
        "app.py",
        "    def action(self, name: Callable[P, R], /) -> Action[P, R]: ...",
        "    def action(self, name: Callable[P, R], /) -> Action[..., R]: ...",
        "    await add()",
    ),
    "an unbound bare decorator loses the result": Loosened(
        1,
        "actions.py",
        "def action(name: Callable[P, R], /) -> Action[P, R]: ...",
        "def action(name: Callable[P, R], /) -> Action[P, Any]: ...",
        'assert_type(unbound(1, y="x"), str)',
    ),
    "handler loses the parameters": Loosened(
        2, "actions.py", PLAIN_HANDLER, PLAIN_HANDLER.replace("-> Action[P, R]", "-> Action[..., R]"), "    free(7)"
    ),
    "handler takes anything": Loosened(
        3,
        "actions.py",
        PLAIN_HANDLER,
        PLAIN_HANDLER.replace("fn: Callable[P, R]", "fn: Any"),
        ".handler(7)",
    ),
    "a builder as a decorator loses the result": Loosened(
        1, "actions.py", PLAIN_CALL, PLAIN_CALL.replace("-> Action[P, R]", "-> Action[P, Any]"), "assert_type(named("
    ),
    "a typed handler loses the parameters": Loosened(
        2,
        "actions.py",
        TYPED_HANDLER,
        TYPED_HANDLER.replace("Action[Concatenate[T, P], R]", "Action[..., R]"),
        "    await typed(order=Order",
    ),
    "a typed handler may take another input": Loosened(
        1,
        "actions.py",
        TYPED_HANDLER,
        TYPED_HANDLER.replace("fn: Callable[Concatenate[T, P], R]", "fn: Callable[P, R]"),
        "input(Order).handler(of_a_point)",
    ),
    "a typed decorator may take another input": Loosened(
        2,
        "actions.py",
        TYPED_CALL,
        TYPED_CALL.replace("fn: Callable[Concatenate[T, P], R]", "fn: Callable[P, R]"),
        "typed_builder(of_a_point)",
    ),
    "a context first loses the result": Loosened(
        1,
        "actions.py",
        CONTEXT_FIRST,
        CONTEXT_FIRST.replace("-> Action[[Context, T], R]", "-> Action[[Context, T], Any]"),
        "assert_type(await typed_first(",
    ),
    "the type of an input is forgotten": Loosened(
        3,
        "actions.py",
        "    def input(self, type: type[T], /) -> TypedActionBuilder[T]: ...",
        "    def input(self, type: type[T], /) -> TypedActionBuilder[Any]: ...",
        "input(Order).handler(of_a_point)",
    ),
    "what validates an input is forgotten": Loosened(
        1,
        "actions.py",
        "validate: Callable[[Any], T]) -> TypedActionBuilder[T]: ...",
        "validate: Callable[[Any], T]) -> TypedActionBuilder[Any]: ...",
        "    validated(of_a_point)",
    ),
    "a gate forgets the builder": Loosened(
        3,
        "actions.py",
        "    def confirm(self: B, question: str, *, on_refusal: Any = UNSET) -> B:",
        "    def confirm(self: B, question: str, *, on_refusal: Any = UNSET) -> Any:",
        "    gate(7)",
    ),
    "a time limit is anything": Loosened(
        1,
        "actions.py",
        "    def timeout(self: B, limit: float | timedelta | None) -> B:",
        "    def timeout(self: B, limit: Any) -> B:",
        '.timeout("1")',
    ),
    # Questions
    "confirm gives anything": Loosened(
        1,
        "context.py",
        "    def confirm(self, question: str, *, key: str | None = None) -> Asking[bool]:",
        "    def confirm(self, question: str, *, key: str | None = None) -> Asking[Any]:",
        'assert_type(await ctx.confirm("?"), bool)',
    ),
    "confirm is a coroutine that is true": Loosened(
        2,
        "context.py",
        "    def confirm(self, question: str, *, key: str | None = None) -> Asking[bool]:",
        "    def confirm(self, question: str, *, key: str | None = None) -> Coroutine[Any, Any, bool]:",
        'if ctx.confirm("?")',
    ),
    "a question has a truth value": Loosened(
        3,
        "asking.py",
        "    def __bool__(self) -> Never:",
        "    def __bool__(self) -> bool:",
        'print(1 if ctx.confirm("?") else 2)',
    ),
    "a question below an action has none to give": Loosened(
        1,
        "context.py",
        "def confirm(question: str, *, key: str | None = None) -> Asking[bool]:",
        "def confirm(question: str, *, key: str | None = None) -> Any:",
        'assert_type(await confirm("?"), bool)',
    ),
    "elicit gives anything": Loosened(
        1,
        "context.py",
        ELICIT + "Asking[T | None]: ...",
        ELICIT + "Asking[Any]: ...",
        'assert_type(await ctx.elicit("?", Warehouse), Warehouse | None)',
    ),
    "elicit never gives none": Loosened(
        2,
        "context.py",
        ELICIT + "Asking[T | None]: ...",
        ELICIT + "Asking[T]: ...",
        '(await ctx.elicit("?", Order)).id',
    ),
    "elicit of a form gives anything": Loosened(
        1,
        "context.py",
        ELICIT_FORM + "Asking[T | None]: ...",
        ELICIT_FORM + "Asking[Any]: ...",
        'assert_type(await ctx.elicit("?", Literal["a", "b"]), Literal["a", "b"] | None)',
    ),
    "elicit takes any schema": Loosened(
        3,
        "context.py",
        ELICIT_FORM + "Asking[T | None]: ...",
        ELICIT_FORM.replace("TypeForm[T]", "Any") + "Asking[Any]: ...",
        'await ctx.elicit("?", 5)',
    ),
    "elicit below an action gives anything": Loosened(
        2,
        "context.py",
        "def elicit(question: str, schema: type[T], *, key: str | None = None) -> Asking[T | None]: ...",
        "def elicit(question: str, schema: type[T], *, key: str | None = None) -> Asking[Any]: ...",
        'assert_type(await elicit("?", Warehouse), Warehouse | None)',
    ),
    "sample gives anything": Loosened(
        1,
        "context.py",
        "    def sample(self, prompt: str, schema: type[T], *, max_tokens: int | None = None) -> Asking[T]: ...",
        "    def sample(self, prompt: str, schema: type[T], *, max_tokens: int | None = None) -> Asking[Any]: ...",
        'assert_type(await ctx.sample("?", Warehouse), Warehouse)',
    ),
    "a level is any text": Loosened(
        2,
        "context.py",
        'Level: TypeAlias = Literal["debug", "info", "warn", "error"]',
        "Level: TypeAlias = str",
        'ctx.log("x", level="loud")',
    ),
    # Answers
    "the value of an answer is anything": Loosened(
        2, "asking.py", "    value: T_co\n", "    value: Any\n", "assert_type(value, Warehouse)"
    ),
    "a yes has any truth value": Loosened(
        1,
        "asking.py",
        "    def __bool__(self) -> Literal[True]:",
        "    def __bool__(self) -> bool:",
        "assert_type(answer, Declined | Cancelled)",
    ),
    "a no has any truth value": Loosened(
        3,
        "asking.py",
        'from a client by itself. False in a condition."""\n\n    def __bool__(self) -> Literal[False]:',
        'from a client by itself. False in a condition."""\n\n    def __bool__(self) -> bool:',
        "assert_type(answer.value, date)",
    ),
    # Without an event loop
    "confirm of a def gives anything": Loosened(
        1,
        "context.py",
        "    def confirm(self, question: str, *, key: str | None = None) -> bool:",
        "    def confirm(self, question: str, *, key: str | None = None) -> Any:",
        'assert_type(ctx.confirm("?"), bool)',
    ),
    "elicit of a def gives anything": Loosened(
        2,
        "context.py",
        ELICIT + "T | None: ...",
        ELICIT + "Any: ...",
        'assert_type(ctx.elicit("?", Warehouse), Warehouse | None)',
    ),
    "confirm below a def gives anything": Loosened(
        3,
        "sync.py",
        "def confirm(question: str, *, key: str | None = None) -> bool:",
        "def confirm(question: str, *, key: str | None = None) -> Any:",
        'assert_type(sync.confirm("?"), bool)',
    ),
    "elicit below a def gives anything": Loosened(
        1,
        "sync.py",
        "def elicit(question: str, schema: type[T], *, key: str | None = None) -> T | None: ...",
        "def elicit(question: str, schema: type[T], *, key: str | None = None) -> Any: ...",
        'assert_type(sync.elicit("?", Warehouse), Warehouse | None)',
    ),
    # The app
    "an app adds anything": Loosened(
        1,
        "app.py",
        "    def add(self, item: AnyAction | Resource)",
        "    def add(self, item: Any)",
        "app.add(of_nothing)",
    ),
    "anything dispatches": Loosened(
        2,
        "app.py",
        "        dispatch: Callable[[Callable[[], None]], object] | None = None,",
        "        dispatch: Any = None,",
        "app.start(dispatch=7)",
    ),
    # Tests
    "an agent of a plain test takes anything": Loosened(
        1,
        "testing/sync_agent.py",
        PLAIN_AGENT,
        "    def __init__(self, app: Target, answers: Answers = (), **options: Any) -> None:",
        "    SyncAgent(app, answer=[])",
    ),
    "a factory of agents takes anything": Loosened(
        2,
        "testing/sync_agent.py",
        FACTORY,
        "    def __call__(self, app: Target, *args: Any, **options: Any) -> SyncAgent:",
        "    tesseron_agent(app, answer=[])",
    ),
    "a factory of agents gives anything": Loosened(
        3,
        "testing/sync_agent.py",
        FACTORY,
        FACTORY.replace("-> SyncAgent:", "-> Any:"),
        "    assert_type(tesseron_agent(app, answers=[accept({",
    ),
}
