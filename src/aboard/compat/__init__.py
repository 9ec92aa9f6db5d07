# SPDX-License-Identifier: Apache-2.0
"""Scripts that import the libraries of other systems change their import lines only; no logic of its own."""
