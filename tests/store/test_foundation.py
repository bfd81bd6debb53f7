import rankscope as rs


def test_x(store):
    q = store.qrels.add(rs.Qrels({"q1": {"d1": 1}}), name="first")
    assert store.qrels.judgments(q)["q1"] == {"d1": 1.0}
    assert store.qrels.find("first") == q
