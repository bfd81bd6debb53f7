"""Sessions of raters that a server keeps: most saves need nothing of the store but the transaction that keeps them.

What a session was made with, the rater's link and the guideline, is compared in that transaction. Where it is no longer
so, and for whatever else than a plain save, the session is opened anew, and the save is decided by what holds now.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from rankscope.judging.rater_view import SaveAnswer, SaveRequest
from rankscope.judging.session import RaterSession, ShownPlace, open_session
from rankscope.store import Store
from rankscope.store.saving import Remembered
from rankscope.store.schema import text_sha256

MOST_SESSIONS = 1000


class KeptSessions:
    """The sessions of those who saved last, by the hashes of their links."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._kept: OrderedDict[str, RaterSession] = OrderedDict()
        self._shown: OrderedDict[int, set[ShownPlace]] = OrderedDict()
        self._since = store.clock()
        self._lock = threading.Lock()

    def save(self, token: str, request: SaveRequest) -> SaveAnswer:
        """Keep what a rater says; the answer is that of a session which is opened for it.

        Raises
        ------
        InputError
            The token belongs to no invitation.
        """
        sha256 = text_sha256(token)
        with self._lock:
            known = self._kept.get(sha256)
        if known is not None and is_plain(request, known):
            known.rater = self.store.raters.seen(known.rater)
            answer = known.save(request, remembered=Remembered(sha256, known.task.guideline))
            if answer.status != "refused":  # otherwise it may be due to what has changed since
                return answer
        session = self.open(token, to_save=True)
        self._keep(sha256, session)
        return session.save(request)

    def open(self, token: str, *, to_save: bool = False) -> RaterSession:
        """Open a session that knows what was ever in the rater's queue since this server was started.

        A doc may go to another rater, as somebody was invited, while it stands on the screen of the first: what they
        say of it then is kept. What was shown before the start nobody knows: for raters who were invited before, what
        they had as long as nobody else was invited counts, too.
        """
        session = open_session(self.store, token, to_save=to_save)
        with self._lock:
            session.shown = self._shown.setdefault(session.rater.number, set())
            session.earlier_from = self._since
            self._shown.move_to_end(session.rater.number)
            while len(self._shown) > MOST_SESSIONS:
                self._shown.popitem(last=False)
        return session

    def _keep(self, sha256: str, session: RaterSession) -> None:
        with self._lock:
            if session.rater.revoked is not None:
                self._kept.pop(sha256, None)
                return
            self._kept[sha256] = session
            self._kept.move_to_end(sha256)
            while len(self._kept) > MOST_SESSIONS:
                self._kept.popitem(last=False)


def is_plain(request: SaveRequest, session: RaterSession) -> bool:
    """Tell whether a save depends on nothing of the plan of a task, which may change: most do not."""
    return not request.again and request.guideline in (None, session.task.guideline)
