# SPDX-License-Identifier: Apache-2.0
"""Boards that are processes: which unit, and on which machine; reindexings, known to all server processes."""

import sqlalchemy as sa
from alembic import op

from aboard.catalog.columns import Json, Moment, Words

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    for name in ("unit", "unit_host"):
        op.add_column("boards", sa.Column(name, Words(), nullable=True))
    op.create_table(
        "reindexings",
        sa.Column("id", Words(), nullable=False),
        sa.Column("store", Words(), nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("is_over", sa.Boolean(), nullable=False),
        sa.Column("facts", Json(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_reindexings"),
    )
