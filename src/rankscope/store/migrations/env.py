"""Called by Alembic: runs the migrations on the connection that `rankscope.store.engine` gives, in one transaction."""

import logging

from alembic import context

from rankscope.store.schema import metadata

if not (steps := logging.getLogger("alembic")).level:  # some packages have everything printed that is of no interest
    steps.setLevel(logging.WARNING)
context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
