# SPDX-License-Identifier: Apache-2.0
"""The version of aboard, for modules that the package `aboard` itself refers to."""

__version__ = "0.1.0"
