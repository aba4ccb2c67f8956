"""Where a server is and how it is reached: addresses, TLS, and what keeps a connection alive."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from toolfs.error import ArgumentError

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
        if self.tls is not None and (self.tls.cert is None) != (self.tls.key is None):
            raise ArgumentError("tls", "needs `cert` and `key` together, or neither")

    @property
    def is_local(self) -> bool:
        """Whether no other host can listen on the way: a Unix socket, or the loopback."""
        if self.address.startswith("unix:"):
            return True
        host = host_of(self.address)
        return host is not None and is_loopback(host)

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
    if address.startswith("unix:"):
        if not address.removeprefix("unix:").startswith("/"):
            raise ArgumentError("address", f"must be `unix:` and an absolute path, not `{address}`")
        return
    if host_of(address) is None:
        raise ArgumentError("address", f"must be `HOST:PORT` or `unix:/PATH`, not `{address}`")


def host_of(address: str) -> str | None:
    """The host of `HOST:PORT`; `None` where that is not what it is."""
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal() or int(port) > 65535:
        return None
    return host


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


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))
