"""tesseron-py: give AI agents typed actions in a running Python application, and keep a person in the loop.

Everything an author needs is here; the parts behind it are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import sync as sync
    from ._version import __version__ as __version__
    from .actions import Action as Action
    from .actions import action as action
    from .app import Tesseron as Tesseron
    from .asking import Accepted as Accepted
    from .asking import Cancelled as Cancelled
    from .asking import Declined as Declined
    from .context import Context as Context
    from .context import SyncContext as SyncContext
    from .context import ask as ask
    from .context import confirm as confirm
    from .context import current_context as current_context
    from .context import elicit as elicit
    from .errors import ActionCancelled as ActionCancelled
    from .errors import ActionError as ActionError
    from .errors import ActionTimeout as ActionTimeout
    from .errors import ElicitationNotAvailable as ElicitationNotAvailable
    from .errors import ErrorCode as ErrorCode
    from .errors import InvalidAnswer as InvalidAnswer
    from .errors import InvalidInput as InvalidInput
    from .errors import InvalidSchema as InvalidSchema
    from .errors import MalformedAnswer as MalformedAnswer
    from .errors import RegistrationError as RegistrationError
    from .errors import SamplingNotAvailable as SamplingNotAvailable
    from .errors import TesseronError as TesseronError
    from .errors import TooManyPrompts as TooManyPrompts
    from .errors import TransportClosed as TransportClosed
    from .host.host import Host as Host
    from .host.sync_host import SyncHost as SyncHost
    from .limits import Limits as Limits
    from .protocol.messages import AgentInfo as AgentInfo
    from .protocol.messages import Capabilities as Capabilities

_HOMES = {
    "__version__": "_version",
    "Accepted": "asking",
    "Action": "actions",
    "ActionCancelled": "errors",
    "ActionError": "errors",
    "ActionTimeout": "errors",
    "AgentInfo": "protocol.messages",
    "Cancelled": "asking",
    "Capabilities": "protocol.messages",
    "Context": "context",
    "Declined": "asking",
    "ElicitationNotAvailable": "errors",
    "ErrorCode": "errors",
    "Host": "host.host",
    "InvalidAnswer": "errors",
    "InvalidInput": "errors",
    "InvalidSchema": "errors",
    "Limits": "limits",
    "MalformedAnswer": "errors",
    "RegistrationError": "errors",
    "SamplingNotAvailable": "errors",
    "SyncContext": "context",
    "SyncHost": "host.sync_host",
    "Tesseron": "app",
    "TesseronError": "errors",
    "TooManyPrompts": "errors",
    "TransportClosed": "errors",
    "action": "actions",
    "ask": "context",
    "confirm": "context",
    "current_context": "context",
    "elicit": "context",
}
_MODULES = frozenset({"content", "errors", "sync", "testing"})

__all__ = [
    "Accepted",
    "Action",
    "ActionCancelled",
    "ActionError",
    "ActionTimeout",
    "AgentInfo",
    "Cancelled",
    "Capabilities",
    "Context",
    "Declined",
    "ElicitationNotAvailable",
    "ErrorCode",
    "Host",
    "InvalidAnswer",
    "InvalidInput",
    "InvalidSchema",
    "Limits",
    "MalformedAnswer",
    "RegistrationError",
    "SamplingNotAvailable",
    "SyncContext",
    "SyncHost",
    "Tesseron",
    "TesseronError",
    "TooManyPrompts",
    "TransportClosed",
    "__version__",
    "action",
    "ask",
    "confirm",
    "current_context",
    "elicit",
    "sync",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, getattr(import_module(f".{home}", __name__), name))


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
