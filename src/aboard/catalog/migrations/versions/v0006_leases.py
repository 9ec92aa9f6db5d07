# SPDX-License-Identifier: Apache-2.0
"""What one of several server processes does for all; sessions whose secret is to be replaced."""

import sqlalchemy as sa
from alembic import op

from aboard.catalog.columns import Json, Moment, Words

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "leases",
        sa.Column("name", Words(), nullable=False),
        sa.Column("holder", Words(), nullable=False),
        sa.Column("until", Moment(), nullable=False),
        sa.Column("facts", Json(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_leases"),
    )
    op.add_column("sessions", sa.Column("renewal_due", Moment(), nullable=True))
    op.add_column("sessions", sa.Column("former_hash", Words(), nullable=True))
    op.add_column("sessions", sa.Column("former_until", Moment(), nullable=True))
    op.create_index("ix_sessions_former_hash", "sessions", ["former_hash"])
