"""Called by Alembic: runs the migrations on the connection that `rankscope.store.engine` gives, in one transaction."""

from alembic import context

from rankscope.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
