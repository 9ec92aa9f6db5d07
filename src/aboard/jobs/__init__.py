# SPDX-License-Identifier: Apache-2.0
"""Jobs: training commands that run as runs on an executor, alone or as a sweep, and boards beside them."""
