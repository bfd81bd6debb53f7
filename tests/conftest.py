"""Settings and fixtures for all tests."""

import pytest
from hypothesis import HealthCheck, settings

from rankscope.core.kernel import load_kernel

settings.register_profile(
    "rankscope",
    deadline=None,  # a busy machine is not a bug
    database=None,  # a test run leaves nothing behind
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.function_scoped_fixture,
    ],  # `engine` holds for all examples
)
settings.load_profile("rankscope")


@pytest.fixture(params=["kernel", "python"])
def engine(request, monkeypatch):
    """Run a test with the C++ kernel, and again with the reference implementation."""
    if request.param == "kernel" and load_kernel() is None:
        pytest.skip("the kernel is not built here")
    monkeypatch.setenv("RANKSCOPE_KERNEL", request.param)
    return request.param
