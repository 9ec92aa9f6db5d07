# SPDX-License-Identifier: Apache-2.0
"""Moves the growing files of a run into a store, each byte once, and brings them back."""

from aboard.ship.destinations import Destinations
from aboard.ship.restoring import Restored, restore
from aboard.ship.shipper import Shipper
from aboard.ship.shipping_state import ShippingState
from aboard.ship.spool import Spool, WatchedFolder

__all__ = ["Destinations", "Restored", "Shipper", "ShippingState", "Spool", "WatchedFolder", "restore"]
