# SPDX-License-Identifier: Apache-2.0
"""Views that people save for their workspace."""

import sqlalchemy as sa
from alembic import op

from aboard.catalog.columns import Moment, Number, Words

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "saved_views",
        sa.Column("id", Number, nullable=False),
        sa.Column("workspace_id", Number, nullable=False),
        sa.Column("name", Words(), nullable=False),
        sa.Column("name_key", Words(), nullable=False),
        sa.Column("address", Words(), nullable=False),
        sa.Column("owner", Words(), nullable=False),
        sa.Column("created", Moment(), nullable=False),
        sa.Column("changed", Moment(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name="fk_saved_views_workspace_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_saved_views"),
        sa.UniqueConstraint("workspace_id", "name_key", name="uq_saved_views_workspace_id_name_key"),
        sqlite_autoincrement=True,
    )
