# SPDX-License-Identifier: Apache-2.0
"""Record which token created a token or a login code, so that both end with it."""

import sqlalchemy as sa
from alembic import op

from aboard.catalog.columns import Moment, Number, Words

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the column to tokens and recreate the table of codes, which live for an hour at most."""
    op.add_column("tokens", sa.Column("parent_id", Words(), nullable=True))
    # SQLite cannot add a column with a named foreign key.
    op.drop_table("login_codes")
    op.create_table(
        "login_codes",
        sa.Column("hash", Words(), nullable=False),
        sa.Column("user_id", Number, nullable=False),
        sa.Column("token_id", Words(), nullable=True),
        sa.Column("challenge", Words(), nullable=False),
        sa.Column("created", Moment(), nullable=False),
        sa.Column("expires", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name="fk_login_codes_token_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_login_codes_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("hash", name="pk_login_codes"),
    )
    op.create_index("ix_login_codes_user_id", "login_codes", ["user_id"], unique=False)
    op.create_index("ix_login_codes_expires", "login_codes", ["expires"], unique=False)
