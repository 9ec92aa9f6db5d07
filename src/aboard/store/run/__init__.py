# SPDX-License-Identifier: Apache-2.0
"""What a run is in a store: its keys, its documents, and who may write them (docs/decisions/0010)."""
