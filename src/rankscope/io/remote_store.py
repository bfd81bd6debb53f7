"""Object stores: S3 and what speaks like it, Google Cloud Storage, Azure Blob Storage; by obstore, else by fsspec.

Credentials come from the places where the tools of these stores look for them: variables, profiles, roles of machines.
What these libraries say of an error may hold addresses and the names of keys, so that it is never shown: a sentence of
ours says what it means.
"""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rankscope.errors import InputError, RankscopeError, UnfinishedError
from rankscope.io import remote
from rankscope.io.addresses import STORES, shown_url
from rankscope.io.remote import (
    N_RETRIES,
    RemoteBackend,
    RemoteFile,
    TransientError,
    has_changed,
    no_such_file,
    not_finished,
    parts_of,
)

EXTRA = "pip install 'rankscope[cloud]'"
FSSPEC_PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "az": "adlfs"}
_ENVIRONMENT = ("AWS_", "GOOGLE_", "AZURE_")
_CONNECT_S = 10
_REQUEST_S = 60
_NEAR = 1_000
"""So many names beside a missing one are looked at."""
_CREDENTIALS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; AWS_SKIP_SIGNATURE=true for a "
    "public bucket",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account; GOOGLE_SKIP_SIGNATURE=true for a "
    "public bucket",
    "az": "set AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN; "
    "AZURE_SKIP_SIGNATURE=true for a public container",
}
_SIGNS = (
    ("bucket", "NoSuchBucket|ContainerNotFound|bucket does not exist"),
    ("key", "FileNotFoundError|NoSuchKey|BlobNotFound"),
    ("changed", "PreconditionError|PreconditionFailed|FileExpired"),
    ("region", "without LOCATION|PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint"),
    ("rejected", "InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|UnauthenticatedError"),
    ("credentials", r"169\.254\.|/latest/(api|meta-data)|MissingAccount|NoCredentials|credential"),
    ("permission", "PermissionError|PermissionDenied|AccessDenied|Forbidden"),
    ("part", "NotPartial|UnexpectedRange"),
    ("address", "InvalidPath|could not parse path|UnknownConfiguration"),
    ("certificate", "certificate|UnknownIssuer"),
    ("busy", r"status code: (5\d\d|429)|SlowDown|Service ?Unavailable"),
    ("unreachable", "connect|dns error|unreachable|name resolution|error sending request"),
    ("slow", "time[d ]*out"),
)
"""What an error of a library means, by its kind and the words in it; the first that is found counts."""


def object_store(url: str) -> RemoteBackend:
    """Return what reads from the store of an address: obstore where it is installed, else fsspec with its package."""
    scheme, _, _ = parts_of(url)
    if find_spec("obstore") is not None:
        return ObstoreFiles()
    if find_spec("fsspec") is not None and find_spec(FSSPEC_PACKAGES[scheme]) is not None:
        return FsspecFiles()
    raise InputError(f"{shown_url(url)}: to read from {STORES[scheme]}, a package is needed", hint=EXTRA)


class ObstoreFiles:
    """Files of object stores, read by obstore, which makes failed requests again by itself."""

    def first(self, url: str) -> RemoteFile:
        import obstore

        store, key = store_of(url)
        with errors_of_store(url):
            try:
                answer = obstore.get(store, key, options={"range": (0, remote.HEAD_BYTES)})
                head = bytes(answer.bytes())
                meta = answer.meta
            except obstore.exceptions.GenericError as error:
                if "416" not in first_part(error):
                    raise
                meta, head = obstore.head(store, key), b""  # an empty file has no first byte
        n_wanted = min(remote.HEAD_BYTES, meta["size"])
        if len(head) != n_wanted:
            raise TransientError(f"the answer has {len(head):,} of {n_wanted:,} bytes")
        return RemoteFile(url, meta["size"], meta["e_tag"], head)

    def read(self, file: RemoteFile, start: int, end: int) -> bytes:
        import obstore

        store, key = store_of(file.url)
        with errors_of_store(file.url):
            options: dict[str, Any] = {"range": (start, end)}
            if file.etag:
                options["if_match"] = file.etag
            answer = obstore.get(store, key, options=options)  # type: ignore[arg-type]
            if answer.meta["size"] != file.size or (file.etag and answer.meta["e_tag"] != file.etag):
                raise has_changed(file.url)
            return bytes(answer.bytes())

    def files_below(self, url: str) -> Iterator[RemoteFile]:
        import obstore

        scheme, bucket, key = parts_of(url)
        store, _ = store_of(url)
        with errors_of_store(url):
            for batch in obstore.list(store, key or None, chunk_size=1000):
                for meta in batch:
                    yield RemoteFile(f"{scheme}://{bucket}/{meta['path']}", meta["size"], meta["e_tag"])


class FsspecFiles:
    """Files of object stores, read by what fsspec has for them."""

    def first(self, url: str) -> RemoteFile:
        with errors_of_store(url):
            # what it knows of a folder would hide that a file has changed
            system = self._system(url)
            system.invalidate_cache()
            info = system.info(url)
            if info.get("type") == "directory":
                raise FileNotFoundError(url)
            head = system.cat_file(url, 0, min(remote.HEAD_BYTES, info["size"])) if info["size"] else b""
        return RemoteFile(url, info["size"], version_in(info), head)

    def read(self, file: RemoteFile, start: int, end: int) -> bytes:
        system = self._system(file.url)
        with errors_of_store(file.url):
            data: bytes = system.cat_file(file.url, start, end)
            system.invalidate_cache()
            info = system.info(file.url)
        if (info["size"], version_in(info)) != (file.size, file.etag):
            raise has_changed(file.url)
        return data

    def files_below(self, url: str) -> Iterator[RemoteFile]:
        scheme, bucket, _ = parts_of(url)
        with errors_of_store(url):
            system = self._system(url)
            system.invalidate_cache()
            found = system.find(url, detail=True)
        for path, info in found.items():
            key = (path.partition("://")[2] or path).lstrip("/")
            yield RemoteFile(f"{scheme}://{bucket}/{key.removeprefix(f'{bucket}/')}", info["size"], version_in(info))

    def _system(self, url: str) -> Any:
        import fsspec

        return fsspec.filesystem(parts_of(url)[0])


def version_in(info: Mapping[str, Any]) -> str | None:
    """Return what a file's version is called among what fsspec knows of it."""
    found = next((info[name] for name in ("ETag", "etag", "md5Hash", "LastModified") if info.get(name)), None)
    return None if found is None else str(found)


def store_of(url: str) -> tuple[Any, str]:
    """Return the store of an address and the key within it; stores are kept as long as the environment is the same."""
    scheme, bucket, key = parts_of(url)
    settings = tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith(_ENVIRONMENT)))
    with errors_of_store(url):
        return new_store(scheme, bucket, settings), key


@lru_cache(maxsize=16)
def new_store(scheme: str, bucket: str, settings: tuple[tuple[str, str], ...]) -> Any:
    from obstore import store

    environment = dict(settings)
    # boto3 and the others take http where the endpoint says so; a store of one's own often has no certificate
    endpoints = (environment.get("AWS_ENDPOINT_URL_S3"), environment.get("AWS_ENDPOINT_URL"))
    options: dict[str, Any] = {
        "client_options": {
            "connect_timeout": timedelta(seconds=_CONNECT_S),
            "timeout": timedelta(seconds=_REQUEST_S),
            "allow_http": any((each or "").startswith("http://") for each in endpoints),
        },
        "retry_config": {
            "max_retries": N_RETRIES,
            "backoff": {
                "init_backoff": timedelta(seconds=remote.BACKOFF_S),
                "max_backoff": timedelta(seconds=10),
                "base": 2,
            },
            "retry_timeout": timedelta(seconds=3 * _REQUEST_S),
        },
    }
    if scheme == "s3":
        return store.S3Store(bucket, **options, **profile_options(environment))
    return (store.GCSStore if scheme == "gs" else store.AzureStore)(bucket, **options)


def profile_options(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return what the profile of the user says, where no variables hold credentials: keys, region and endpoint."""
    ways = ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SKIP_SIGNATURE")
    if any(environment.get(name) for name in ways) or any(name.startswith("AWS_CONTAINER_") for name in environment):
        return {}
    name = environment.get("AWS_PROFILE") or "default"
    credentials = section_of(environment.get("AWS_SHARED_CREDENTIALS_FILE") or "~/.aws/credentials", name)
    settings = section_of(
        environment.get("AWS_CONFIG_FILE") or "~/.aws/config", name if name == "default" else f"profile {name}"
    )
    if credentials is None and settings is None:
        if environment.get("AWS_PROFILE"):
            raise InputError(f"there is no profile {name!r}", hint="AWS_PROFILE names one of ~/.aws/credentials")
        return {}
    found = {**(settings or {}), **(credentials or {})}
    has_region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    config = {"region": found["region"]} if "region" in found and not has_region else {}
    if "aws_access_key_id" in found:
        names = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
        return {"config": {**config, **{each: found[each] for each in names if each in found}}}
    if not set(found) & {"sso_session", "sso_start_url", "role_arn", "credential_process", "login_session"}:
        return {"config": config}
    if find_spec("boto3") is None:
        raise InputError(f"profile {name!r} signs in in a way that needs boto3", hint="pip install boto3")
    from boto3 import Session
    from obstore.auth.boto3 import Boto3CredentialProvider

    return {"config": config, "credential_provider": Boto3CredentialProvider(Session(profile_name=name))}


def section_of(path: str, name: str) -> dict[str, str] | None:
    """Return a section of a file of settings; None where there is none."""
    parser = configparser.RawConfigParser()
    try:
        parser.read(Path(path).expanduser(), encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError, OSError, RuntimeError):
        raise InputError(
            f"{path} cannot be read as a file of profiles", hint="correct it, or set AWS_… variables"
        ) from None
    return dict(parser[name]) if name in parser else None


@contextmanager
def errors_of_store(url: str) -> Iterator[None]:
    """Say in words of ours what keeps a store from answering; what its library says stays inside."""
    try:
        yield
    except (RankscopeError, TransientError, GeneratorExit, KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # noqa: BLE001 (a panic of a library in Rust is no Exception)
        raise error_for(url, error) from None


def first_part(error: BaseException) -> str:
    return str(error).partition("\n\nDebug source:")[0]


def error_for(url: str, error: BaseException) -> Exception:
    """Return the error that users see for one of obstore or fsspec."""
    scheme, bucket, _ = parts_of(url)
    name, said = shown_url(url), f"{' '.join(kind.__name__ for kind in type(error).__mro__)} {error}"
    meaning = next((meaning for meaning, signs in _SIGNS if re.search(signs, said, re.IGNORECASE)), "")
    code = next(iter(re.findall(r"<Code>(\w+)</Code>", said)), "")
    where = f"the {'container' if scheme == 'az' else 'bucket'} {bucket}"
    endpoint = "and AWS_ENDPOINT_URL if it is set"
    simple = {
        "bucket": (f"{where} does not exist", f"check its name, {endpoint}"),
        "region": (f"{where} lies in another region", f"set AWS_REGION={region_in(said) or 'REGION'}"),
        "rejected": (f"{STORES[scheme]} does not accept the credentials", _CREDENTIALS[scheme]),
        "credentials": ("there are no credentials", _CREDENTIALS[scheme]),
        "permission": (
            "there is no permission to read it",
            "they must be allowed to get objects; unless they may list them, missing ones are forbidden, too",
        ),
        "address": ("this cannot be the address of a file", "check it for empty parts, . and .."),
        "certificate": ("the certificate of the server is not valid", f"check SSL_CERT_FILE {endpoint}"),
    }
    if meaning in simple:
        problem, hint = simple[meaning]
        return InputError(f"{name}: {problem}{f' ({code})' if code else ''}", hint=hint)
    if meaning == "unreachable":
        problem = f"{name} could not be read: its server cannot be reached"
        return UnfinishedError(problem, hint=f"check the network, {endpoint}")
    if meaning == "part":
        return TransientError("the answer is another part of the file than was asked for")
    if meaning in {"key", "changed"}:
        return missing_key(url) if meaning == "key" else has_changed(url)
    reasons = {"busy": "the server is busy or fails", "slow": "the answer took too long"}
    return not_finished(url, reasons.get(meaning, "the answer is cut off or damaged"))


def region_in(said: str) -> str:
    """Return the region that a store says it lies in."""
    found = re.search(r"<Region>([a-z0-9-]+)</Region>|expecting '([a-z0-9-]+)'", said)
    return (found[1] or found[2]) if found else ""


def missing_key(url: str) -> RankscopeError:
    """Return the error for a key that does not exist, with the names near it as far as they may be listed."""
    scheme, bucket, key = parts_of(url)
    below = f"{scheme}://{bucket}/{key[: key.rfind('/') + 1]}"
    near: list[str] = []
    try:
        for file in object_store(url).files_below(below):
            rest = file.key[len(parts_of(below)[2]) :]
            name, slash, _ = rest.partition("/")
            near.append(name + slash)  # what stands for files ends in a slash
            if len(near) >= _NEAR:
                break
    except RankscopeError as error:
        if "does not exist" in error.message:
            return error  # the bucket itself
    return no_such_file(url, list(dict.fromkeys(near)))
