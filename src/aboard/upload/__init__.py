# SPDX-License-Identifier: Apache-2.0
"""Moves the growing files of a run into a store, each byte once, and brings them back."""

from aboard.upload.destinations import Destinations
from aboard.upload.restore import Restored, restore
from aboard.upload.scan import Spool, WatchedFolder
from aboard.upload.uploader import Shipper, ShippingState

__all__ = ["Destinations", "Restored", "Shipper", "ShippingState", "Spool", "WatchedFolder", "restore"]
