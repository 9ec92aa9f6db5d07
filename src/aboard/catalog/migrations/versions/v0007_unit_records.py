# SPDX-License-Identifier: Apache-2.0
"""What is known of the units of boards, for all servers, also when the board is gone."""

import sqlalchemy as sa
from alembic import op

from aboard.catalog.columns import Json, Words

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the table; units that are there get a row, which their servers fill."""
    op.create_table(
        "board_units",
        sa.Column("unit", Words(), nullable=False),
        sa.Column("board_id", Words(), nullable=False),
        sa.Column("host", Words(), nullable=False),
        sa.Column("executor", Words(), nullable=False),
        sa.Column("options", Json(), nullable=False),
        sa.Column("mirror", Words(), nullable=False),
        sa.Column("said", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("unit", name="pk_board_units"),
    )
    op.execute(
        "INSERT INTO board_units (unit, board_id, host, executor, options, mirror, said) "
        "SELECT unit, id, coalesce(unit_host, ''), '', '{}', '', 0 FROM boards WHERE unit IS NOT NULL"
    )
