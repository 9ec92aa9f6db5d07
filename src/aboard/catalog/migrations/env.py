# SPDX-License-Identifier: Apache-2.0
"""What Alembic runs: the steps that are missing, on the connection and in the transaction that it was given."""

from alembic import context

from aboard.catalog.migrations.schema_version import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=VERSION_TABLE,
    transactional_ddl=True,  # both databases take back a step that fails
)
with context.begin_transaction():
    context.run_migrations()
