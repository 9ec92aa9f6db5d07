# SPDX-License-Identifier: Apache-2.0
"""Commands about people: `aboard user`, `aboard token`, `aboard login` and `aboard logout`."""
