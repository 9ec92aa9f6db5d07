# SPDX-License-Identifier: Apache-2.0
"""The use cases of boards: their lifecycle, boards in the server, and boards that are processes of their own."""
