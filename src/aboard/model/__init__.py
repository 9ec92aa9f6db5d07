# SPDX-License-Identifier: Apache-2.0
"""Value types that every part of aboard may use: they import nothing but each other and the errors."""
