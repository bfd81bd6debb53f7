"""What pages keep in memory is as old as the store, and never older."""

import rankscope as rs
from rankscope.store import open_store
from rankscope.web.library import Library


def test_what_was_built_is_kept_until_something_is_stored(tmp_path):
    with open_store(tmp_path, create=True) as store:
        library, built = Library(store), []
        build = lambda: built.append(1) or len(built)  # noqa: E731
        assert [library.cached("a", build), library.cached("a", build)] == [1, 1]
        store.qrels.add(rs.Qrels({"q1": {"d1": 1}}), name="c")
        assert [library.cached("a", build), library.cached("a", build)] == [2, 2]


def test_what_was_stored_while_something_was_built_is_not_missed(tmp_path):
    with open_store(tmp_path, create=True) as store:
        library = Library(store)

        def build():
            seen = len(store.qrels.list())
            if not seen:  # another program stores judgments after they were looked at
                store.qrels.add(rs.Qrels({"q1": {"d1": 1}}), name="c")
            return seen

        assert library.cached("a", build) == 0
        assert library.cached("a", build) == 1
        assert library.cached("a", build) == 1


def test_what_lasts_is_not_built_again(tmp_path):
    with open_store(tmp_path, create=True) as store:
        library, built = Library(store), []
        for _ in range(2):
            library.cached("a", lambda: built.append(1), lasting=True)
            store.qrels.add(rs.Qrels({"q1": {f"d{len(store.qrels.list())}": 1}}), name="c")
        assert built == [1]
