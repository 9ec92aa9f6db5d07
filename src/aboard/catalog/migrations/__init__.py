# SPDX-License-Identifier: Apache-2.0
"""Steps from one schema to the next, run by Alembic; `versions` holds one file each, never changed once released."""
