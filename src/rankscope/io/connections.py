"""Connections to web servers by urllib3, with the proxies of the environment; for files and for systems alike."""

from __future__ import annotations

import ipaddress
import urllib.parse
import urllib.request

import urllib3

from rankscope.errors import OptionError


def is_loopback(host: str) -> bool:
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def proxy_for(url: str) -> str | None:
    """Return the proxy for an address, as http_proxy, https_proxy and no_proxy say."""
    parts = urllib.parse.urlsplit(url)
    host = str(parts.hostname)
    bypass = is_loopback(host) or urllib.request.proxy_bypass(host)
    proxy = None if bypass else urllib.request.getproxies().get(parts.scheme) or None
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def new_manager(proxy: str | None, *, n_connections: int) -> urllib3.PoolManager:
    if proxy is None:
        return urllib3.PoolManager(maxsize=n_connections)
    user, _, password = (urllib3.util.parse_url(proxy).auth or "").partition(":")
    login = f"{urllib.parse.unquote(user)}:{urllib.parse.unquote(password)}" if user else None
    headers = urllib3.util.make_headers(proxy_basic_auth=login)
    try:
        return urllib3.ProxyManager(proxy, proxy_headers=headers, maxsize=n_connections)
    except urllib3.exceptions.ProxySchemeUnknown as error:
        raise OptionError(f"the proxy {proxy!r} of the environment is no http or https address") from error
