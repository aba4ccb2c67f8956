"""Where a server is and how it is reached: addresses, TLS, and what keeps a connection alive."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc

from toolfs.error import ArgumentError
from toolfs.seconds import seconds

_NO_HOST = re.compile(r"[][:/?#@%,\s\0]")
"""What no host's name has in it."""

Material = bytes | str | os.PathLike[str]
"""PEM: its bytes, or the path of its file."""


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS towards the server. Without `ca` the roots that grpcio comes with are trusted."""

    ca: Material | None = None
    """The certificates that are trusted."""
    cert: Material | None = None
    """The client's own certificate chain, for mutual TLS."""
    key: Material | None = field(default=None, repr=False)
    """The private key of `cert`."""
    server_name: str | None = None
    """The name that the server's certificate must have, where that is not the host of the address."""


@dataclass(frozen=True, slots=True)
class Keepalive:
    """Pings that find out that a connection is dead while a call waits on it."""

    time: float = 30.0
    """Seconds without a sign of the server after which it is pinged."""
    timeout: float = 10.0
    """Seconds that the answer to a ping may take."""
    without_calls: bool = False
    """Whether an idle connection is pinged too."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server and everything that a connection to it depends on. Equal targets share a connection."""

    address: str
    tls: Tls | None
    keepalive: Keepalive
    connect_timeout: float
    max_message_bytes: int

    def __post_init__(self) -> None:
        check_address(self.address)
        seconds("connect_timeout", self.connect_timeout)
        seconds("keepalive.time", self.keepalive.time)
        seconds("keepalive.timeout", self.keepalive.timeout)
        if self.tls is not None and (self.tls.cert is None) != (self.tls.key is None):
            raise ArgumentError("tls", "needs `cert` and `key` together, or neither")

    @property
    def is_local(self) -> bool:
        """Whether no other host can listen on the way: a Unix socket, or the loopback."""
        if self.address.startswith("unix:"):
            return True
        host = host_of(self.address)
        return host is not None and is_loopback(host)

    @property
    def uri(self) -> str:
        """The address in the spelling of grpcio."""
        return as_uri(self.address)

    def options(self) -> list[tuple[str, Any]]:
        """The channel's options in the spelling of grpcio."""
        options: list[tuple[str, Any]] = [
            ("grpc.max_send_message_length", self.max_message_bytes),
            ("grpc.max_receive_message_length", self.max_message_bytes),
            ("grpc.keepalive_time_ms", _ms(self.keepalive.time)),
            ("grpc.keepalive_timeout_ms", _ms(self.keepalive.timeout)),
            ("grpc.keepalive_permit_without_calls", int(self.keepalive.without_calls)),
            ("grpc.http2.max_pings_without_data", 0),
            # How long one attempt to connect may take, though the name says something else.
            ("grpc.min_reconnect_backoff_ms", _ms(self.connect_timeout)),
            # Soon after a failure again: retries are over in a second, and grpcio fails every call while it waits.
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 2000),
            # The pool of this package shares channels; sharing below it would outlive a fork.
            ("grpc.use_local_subchannel_pool", 1),
        ]
        if self.address.startswith("unix:"):
            # Else the socket's path is the authority, which servers refuse as malformed.
            options.append(("grpc.default_authority", "localhost"))
        if self.is_local:
            # A proxy of the environment is for other hosts.
            options.append(("grpc.enable_http_proxy", 0))
        if self.tls is not None and self.tls.server_name is not None:
            options.append(("grpc.ssl_target_name_override", self.tls.server_name))
        return options

    def credentials(self) -> grpc.ChannelCredentials | None:
        """The credentials of the channel; `None` for a plain one. Reads files."""
        if self.tls is None:
            return None
        return grpc.ssl_channel_credentials(
            root_certificates=_pem("ca", self.tls.ca),
            private_key=_pem("key", self.tls.key),
            certificate_chain=_pem("cert", self.tls.cert),
        )


def check_address(address: str) -> None:
    """Raises `ArgumentError` unless this is `unix:/PATH` or `HOST:PORT`."""
    check_text(address)
    if address.startswith("unix:"):
        if not address.removeprefix("unix:").startswith("/"):
            raise ArgumentError("address", f"must be `unix:` and an absolute path, not `{address}`")
        check_socket_path(address)
        return
    if host_of(address) is None:
        raise ArgumentError("address", f"must be `HOST:PORT` or `unix:/PATH`, not `{address}`")


def check_text(address: object) -> None:
    """Raises `ArgumentError` for a path or whatever else is no string."""
    if not isinstance(address, str):
        kind = type(address).__name__
        raise ArgumentError("address", f"must be a string, `HOST:PORT` or `unix:/PATH`, not `{kind}`")


def check_socket_path(address: str) -> None:
    """Raises `ArgumentError` where what follows `unix:` is no path that a file can have."""
    try:
        path = os.fsencode(address)
    except UnicodeEncodeError:
        raise ArgumentError("address", f"must be a path that a file can have, not {address!r}") from None
    if b"\0" in path:
        # The transport would take what stands before it.
        raise ArgumentError("address", f"must be a path without NUL, not {address!r}")
    if b"," in path:
        # grpcio divides a list of addresses there, and knows no escape.
        raise ArgumentError("address", f"must be a path without a comma, not `{address}`: make a link to the directory")


def as_uri(address: str) -> str:
    """The address in the spelling of grpcio, which reads what follows `unix:` as a URI: `?` and `#` would end the path
    there, and `%` begin an escape."""
    path = address.removeprefix("unix:")
    return address if path == address else f"unix:{quote(os.fsencode(path))}"


def host_of(address: str) -> str | None:
    """The host of `HOST:PORT`; `None` where that is not what it is."""
    host, _, port = address.rpartition(":")
    # `isdecimal` alone takes the digits of every script.
    if not (port.isascii() and port.isdecimal()) or len(port) > 5 or int(port) > 65535:
        return None
    if host.startswith("[") and host.endswith("]"):
        return host if _is_ipv6(host[1:-1]) else None
    # A colon is left over of an IPv6 address without brackets, or of a scheme; the others grpcio takes for a URI's.
    return host if host and not _NO_HOST.search(host) else None


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether a host, a name or an address, is this one and can be nothing else."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _pem(name: str, material: Material | None) -> bytes | None:
    if material is None or isinstance(material, bytes):
        return material
    try:
        return Path(material).read_bytes()
    except OSError as error:
        raise ArgumentError(f"tls.{name}", f"cannot be read: {error}") from None


def _ms(time: float) -> int:
    # grpcio takes 31 bits.
    return max(1, round(min(time * 1000, 2**31 - 1)))
