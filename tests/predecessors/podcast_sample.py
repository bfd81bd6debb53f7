"""The sample of the podcast search's own tests (github jpequegn/parakeet-semantic-search), in a compact form.

Ten episodes; grades are digits in the order of the episodes; topics are letters.
"""

EPISODES = [f"ep_{i:03d}" for i in range(1, 11)]
JUDGMENTS = {
    query: dict(zip(EPISODES, map(int, digits), strict=True))
    for query, digits in {
        "machine learning": "3322322221",
        "deep learning": "1322203110",
        "natural language processing": "0130101000",
        "computer vision": "0103101000",
        "neural networks": "1322102100",
    }.items()
}
TOPICS = dict(
    zip(
        EPISODES,
        map(set, ["aBC", "aDEFGH", "aHIJK", "aLFM", "aNOP", "aQR", "aDST", "aUV", "aWX", "yZ123"]),
        strict=True,
    )
)

_PODCAST_AND_DATE = {
    "ep_001": ("pod_001", "2025-01-15"),
    "ep_002": ("pod_001", "2025-01-08"),
    "ep_003": ("pod_002", "2025-01-18"),
    "ep_004": ("pod_002", "2025-01-12"),
    "ep_005": ("pod_003", "2025-01-10"),
    "ep_006": ("pod_003", "2025-01-05"),
    "ep_007": ("pod_001", "2024-12-20"),
    "ep_008": ("pod_002", "2025-01-17"),
    "ep_009": ("pod_003", "2025-01-02"),
    "ep_010": ("pod_001", "2024-12-28"),
}


def results_of(*numbers):
    return [
        {
            "episode_id": EPISODES[n - 1],
            "podcast_id": _PODCAST_AND_DATE[EPISODES[n - 1]][0],
            "published_at": _PODCAST_AND_DATE[EPISODES[n - 1]][1],
            "_distance": 0.1 * place,
        }
        for place, n in enumerate(numbers)
    ]


RESULTS = {
    "machine learning": results_of(1, 5, 2, 6, 10),
    "deep learning": results_of(2, 7, 4, 3, 1),
    "computer vision": results_of(4, 2, 7, 5, 9),
    "reinforcement learning": results_of(8, 2, 1, 5, 3),
}
