"""Tables that speak the Arrow C stream interface, as the kernel takes them."""

from __future__ import annotations

from typing import Any

from rankscope.data.run import TableSource
from rankscope.io.columns import RUN_COLUMNS, RUN_REQUIRED, find_columns
from rankscope.native import kernel


def table_source(data: Any) -> TableSource | None:
    """Return a table as a source for the kernel, or None where it has to be read row by row."""
    module = kernel()
    if module is None:
        return None
    try:
        table = arrow_table(module, data)
    except (ImportError, RuntimeError, TypeError, ValueError):
        return None  # pandas needs pyarrow for this, and not every column has an Arrow type
    names = table.names
    own_names = list(data.columns) if hasattr(data, "iloc") else names  # pandas hands out its index as a column, too
    found = find_columns(own_names, RUN_COLUMNS, required=RUN_REQUIRED)
    if any(names.count(name) != 1 for name in found.values()):
        return None
    return TableSource(data, table, {role: names.index(name) for role, name in found.items()})


def arrow_table(module: Any, data: Any) -> Any:
    """Return a table as the kernel sees it."""
    if hasattr(data, "get_columns") and hasattr(data, "n_chunks") and data.n_chunks() > 1:
        # polars would copy a frame that comes in several chunks into one; its columns it hands out as they are
        return module.table_of_columns([column.__arrow_c_stream__() for column in data.get_columns()])
    return module.table_of(data.__arrow_c_stream__())
