# SPDX-License-Identifier: Apache-2.0
"""Moves the growing files of a run into a store, each byte once, and brings them back."""

from aboard.upload.destinations import Destinations
from aboard.upload.restoring import Restored, restore
from aboard.upload.shipper import Shipper
from aboard.upload.shipping_state import ShippingState
from aboard.upload.spool import Spool, WatchedFolder

__all__ = ["Destinations", "Restored", "Shipper", "ShippingState", "Spool", "WatchedFolder", "restore"]
