# SPDX-License-Identifier: Apache-2.0
"""Authentication: who sends a request, login pages, and OpenID."""
