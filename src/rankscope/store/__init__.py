"""What is kept: runs, judgments, scores, comparisons and tags, in SQLite or PostgreSQL.

Facts are immutable and addressed by content; numbers can be computed again; opinions are only added to.
"""

from rankscope.store.engine import StoreLocation, find_store
from rankscope.store.runs import CollectionFacts, RunDetails, RunFacts, StoredRun
from rankscope.store.store import Store, open_store, open_to_look
from rankscope.store.texts import StoredDoc, StoredQuery

__all__ = [
    "CollectionFacts",
    "RunDetails",
    "RunFacts",
    "Store",
    "StoreLocation",
    "StoredDoc",
    "StoredQuery",
    "StoredRun",
    "find_store",
    "open_store",
    "open_to_look",
]
