# SPDX-License-Identifier: Apache-2.0
"""Sessions of browsers, and codes that open one once."""

import sqlalchemy as sa
from alembic import op

from aboard.catalog.columns import Moment, Number, Words

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("hash", Words(), nullable=False),
        sa.Column("user_id", Number, nullable=False),
        sa.Column("token_id", Words(), nullable=True),
        sa.Column("origin", Words(), nullable=False),
        sa.Column("created", Moment(), nullable=False),
        sa.Column("expires", Moment(), nullable=False),
        sa.Column("last_used", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name="fk_sessions_token_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_sessions_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("hash", name="pk_sessions"),
    )
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"], unique=False)
    op.create_index("ix_sessions_expires", "sessions", ["expires"], unique=False)
    op.create_table(
        "login_codes",
        sa.Column("hash", Words(), nullable=False),
        sa.Column("user_id", Number, nullable=False),
        sa.Column("challenge", Words(), nullable=False),
        sa.Column("created", Moment(), nullable=False),
        sa.Column("expires", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_login_codes_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("hash", name="pk_login_codes"),
    )
    op.create_index("ix_login_codes_user_id", "login_codes", ["user_id"], unique=False)
    op.create_index("ix_login_codes_expires", "login_codes", ["expires"], unique=False)
