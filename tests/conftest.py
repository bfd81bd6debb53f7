"""Settings for all tests."""

from hypothesis import HealthCheck, settings

# No deadline (a busy machine is not a bug) and no database (a test run leaves nothing behind).
settings.register_profile("rankscope", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rankscope")
