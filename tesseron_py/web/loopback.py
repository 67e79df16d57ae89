"""Which host names mean this machine and nothing else. No resolver is asked: what it answers is not to be trusted."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address


def is_loopback_host(host: str) -> bool:
    """Whether `host` is `localhost`, in 127.0.0.0/8, or `::1` (without brackets)."""
    if host.lower() == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address == IPv6Address("::1") or (address.version == 4 and address.is_loopback)
