"""TLS and bearer tokens, against a bare gRPC server with certificates made here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
import trustme
from both import MODES, connect
from scripted_server import EXECUTE, Script, serving

from toolfs import ConnectError, RetryPolicy, Tls

ONCE = RetryPolicy(attempts=1)

pytestmark = pytest.mark.parametrize("mode", MODES)


@dataclass(frozen=True)
class Certificates:
    """Two authorities: one for the server, one for clients."""

    ca: trustme.CA
    client_ca: trustme.CA
    client: trustme.LeafCert

    def server(self, name: str, *, mutual: bool = False) -> grpc.ServerCredentials:
        leaf = self.ca.issue_cert(name)
        return grpc.ssl_server_credentials(
            [(leaf.private_key_pem.bytes(), b"".join(pem.bytes() for pem in leaf.cert_chain_pems))],
            root_certificates=self.client_ca.cert_pem.bytes() if mutual else None,
            require_client_auth=mutual,
        )

    def trusted(self) -> bytes:
        return self.ca.cert_pem.bytes()

    def chain(self) -> bytes:
        return b"".join(pem.bytes() for pem in self.client.cert_chain_pems)


@pytest.fixture(scope="module")
def certificates() -> Iterator[Certificates]:
    client_ca = trustme.CA()
    yield Certificates(trustme.CA(), client_ca, client_ca.issue_cert("agent@toolfs.test"))


async def test_a_server_is_trusted_by_its_authority(mode: str, certificates: Certificates) -> None:
    script = Script()
    with serving(script, credentials=certificates.server("localhost"), address="localhost:0") as address:
        tls = Tls(ca=certificates.trusted())
        async with connect(mode, address, tls=tls) as client, await client.open_session() as session:
            assert (await session.read("a.txt")).outcome.total_lines == 1


async def test_material_may_be_in_files(mode: str, certificates: Certificates, tmp_path: Path) -> None:
    names = {"ca": certificates.trusted(), "cert": certificates.chain()}
    names["key"] = certificates.client.private_key_pem.bytes()
    for name, content in names.items():
        (tmp_path / name).write_bytes(content)
    tls = Tls(ca=tmp_path / "ca", cert=str(tmp_path / "cert"), key=tmp_path / "key")
    credentials = certificates.server("localhost", mutual=True)
    with serving(Script(), credentials=credentials, address="localhost:0") as address:
        async with connect(mode, address, tls=tls) as client:
            await client.definitions()


async def test_mutual_tls_with_a_bearer_token(mode: str, certificates: Certificates) -> None:
    script = Script()
    tls = Tls(certificates.trusted(), certificates.chain(), certificates.client.private_key_pem.bytes())
    credentials = certificates.server("localhost", mutual=True)
    with serving(script, credentials=credentials, address="localhost:0") as address:
        async with connect(mode, address, tls=tls, token="secret-token") as client:
            async with await client.open_session() as session:
                await session.write("a.txt", "a")
    told = {metadata.get("authorization") for _, _, metadata in script.asked}
    assert told == {"Bearer secret-token"}
    assert len(script.requests(EXECUTE)) == 1


async def test_a_server_of_another_authority_is_not_trusted(mode: str, certificates: Certificates) -> None:
    script = Script()
    with serving(script, credentials=certificates.server("localhost"), address="localhost:0") as address:
        tls = Tls(ca=trustme.CA().cert_pem.bytes())
        async with connect(mode, address, tls=tls, retry=ONCE) as client:
            with pytest.raises(ConnectError, match="(?i)certificate|ssl|handshake"):
                await client.definitions()
    assert script.asked == []


async def test_a_client_without_a_certificate_is_turned_away(mode: str, certificates: Certificates) -> None:
    script = Script()
    credentials = certificates.server("localhost", mutual=True)
    with serving(script, credentials=credentials, address="localhost:0") as address:
        tls = Tls(ca=certificates.trusted())
        async with connect(mode, address, tls=tls, retry=ONCE) as client:
            with pytest.raises(Exception) as failure:
                await client.definitions()
    assert failure.value.retryable  # type: ignore[attr-defined]
    assert script.asked == []


async def test_the_name_of_the_server_can_be_another_than_its_host(mode: str, certificates: Certificates) -> None:
    credentials = certificates.server("files.toolfs.test")
    with serving(Script(), credentials=credentials, address="localhost:0") as address:
        named = Tls(ca=certificates.trusted(), server_name="files.toolfs.test")
        async with connect(mode, address, tls=named) as client:
            await client.definitions()
        async with connect(mode, address, tls=Tls(ca=certificates.trusted()), retry=ONCE) as client:
            with pytest.raises(ConnectError):
                await client.definitions()


async def test_a_plain_client_of_a_tls_server_fails(mode: str, certificates: Certificates) -> None:
    with serving(Script(), credentials=certificates.server("localhost"), address="localhost:0") as address:
        async with connect(mode, address, retry=ONCE, connect_timeout=1.0) as client:
            with pytest.raises(ConnectError):
                await client.definitions()
