"""${NAME} in texts of the project file: values of environment variables, so that no secret stands in the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rankscope.errors import OptionError

_VARIABLE = re.compile(r"\$(\$?)\{([^{}]*)\}")
_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)


def with_environment(value: Any, environment: Mapping[str, str], *, where: str) -> Any:
    """Return a value with ${NAME} and ${NAME:-default} replaced in all of its texts; $${NAME} stands for ${NAME}."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: replacement(match, environment, where), value)
    if isinstance(value, dict):
        sep = "" if where.endswith(" ") else "."
        return {key: with_environment(item, environment, where=f"{where}{sep}{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [with_environment(item, environment, where=f"{where}[{i}]") for i, item in enumerate(value)]
    return value


def replacement(match: re.Match[str], environment: Mapping[str, str], where: str) -> str:
    escaped, content = match.groups()
    if escaped:
        return f"${{{content}}}"
    parts = _NAME.fullmatch(content)
    if parts is None:
        raise OptionError(
            f"{where} holds ${{{content}}}, which names no environment variable",
            hint="write ${NAME} or ${NAME:-default}; for the characters themselves write $${…}",
        )
    name, default = parts.groups()
    value = environment.get(name)
    if value is None and default is None:
        raise OptionError(
            f"{where} needs the environment variable {name}, which is not set",
            hint=f"set it (export {name}=…), or give a default: ${{{name}:-…}}",
        )
    return str(value if value is not None else default)
