# SPDX-License-Identifier: Apache-2.0
"""A package, so that its tests share one browser: fixtures of the scope `package` end with it."""
