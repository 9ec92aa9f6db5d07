# SPDX-License-Identifier: Apache-2.0
"""Boards that are processes: which unit, and on which machine."""

import sqlalchemy as sa
from alembic import op

from aboard.catalog.columns import Words

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add both columns."""
    for name in ("unit", "unit_host"):
        op.add_column("boards", sa.Column(name, Words(), nullable=True))
