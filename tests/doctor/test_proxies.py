"""Which proxy applies, as our HTTP client would decide it."""

from __future__ import annotations

import httpx2
import pytest

from vendor_verifier.doctor.proxies import proxy_for

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
HOSTS = ("api.test", "eu.api.test", "192.0.2.1", "localhost", "notapi.test")
PROXY = "http://user:canary-password@proxy.test:3128"


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"https_proxy": PROXY},
        {"HTTPS_PROXY": PROXY},
        {"http_proxy": PROXY},
        {"all_proxy": PROXY},
        {"https_proxy": PROXY, "no_proxy": "*"},
        {"https_proxy": PROXY, "no_proxy": "other.test, api.test"},
        {"https_proxy": PROXY, "no_proxy": ".api.test"},
        {"https_proxy": PROXY, "no_proxy": "*.api.test"},
        {"https_proxy": PROXY, "no_proxy": "test"},
        {"https_proxy": PROXY, "no_proxy": "pi.test"},
        {"https_proxy": PROXY, "NO_PROXY": "192.0.2.1,localhost,::1"},
        {"https_proxy": "proxy.test:3128"},
    ],
)
def test_it_is_the_proxy_our_client_would_use(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The printed proxy and the one connected to are decided alike, rule by rule, for every kind of host."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with httpx2.Client() as client:
        for scheme in ("http", "https"):
            for host in HOSTS:
                transport = client._transport_for_url(httpx2.URL(f"{scheme}://{host}/v1"))
                is_used = getattr(getattr(transport, "_pool", None), "_proxy_url", None) is not None
                expected = "http://proxy.test:3128" if is_used else None
                assert proxy_for(scheme, host, environ) == expected, (scheme, host)


def test_credentials_of_a_proxy_are_never_shown() -> None:
    """Only its scheme, host and port."""
    assert proxy_for("https", "api.test", {"https_proxy": PROXY}) == "http://proxy.test:3128"
    assert (
        proxy_for("https", "api.test", {"https_proxy": "socks5://a:b@[2001:db8::1]:99"}) == "socks5://[2001:db8::1]:99"
    )
    assert "canary" not in str(proxy_for("https", "api.test", {"https_proxy": "http://u:canary@proxy.test:notaport"}))


def test_a_variable_that_a_web_client_could_set_is_not_believed() -> None:
    """Under CGI, HTTP_PROXY is a request header."""
    assert proxy_for("http", "api.test", {"HTTP_PROXY": PROXY, "REQUEST_METHOD": "GET"}) is None
