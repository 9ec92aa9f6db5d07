# SPDX-License-Identifier: Apache-2.0
"""Boards: what they show to whom, and a log of each."""

import sqlalchemy as sa
from alembic import op

from aboard.catalog.columns import Json, Moment, Number, Words

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add what a board shows, and the table of the lines of its log."""
    for column in (
        sa.Column("scope", Json(), nullable=True),
        sa.Column("shown", Json(), nullable=True),
        sa.Column("run_count", sa.BigInteger(), nullable=True),
        sa.Column("secret", Words(), nullable=True),
    ):
        op.add_column("boards", column)
    op.create_table(
        "board_lines",
        sa.Column("id", Number, nullable=False),
        sa.Column("board_id", Words(), nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("level", Words(), nullable=False),
        sa.Column("text", Words(), nullable=False),
        sa.ForeignKeyConstraint(["board_id"], ["boards.id"], name="fk_board_lines_board_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_board_lines"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_board_lines_board_id", "board_lines", ["board_id", "id"], unique=False)
