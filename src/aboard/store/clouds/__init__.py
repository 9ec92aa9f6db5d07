# SPDX-License-Identifier: Apache-2.0
"""The clients of each cloud, and the errors of object stores."""
