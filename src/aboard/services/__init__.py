# SPDX-License-Identifier: Apache-2.0
"""The use cases: what is done with runs, in stores first and then in the catalog; `control.Control` is the door."""
