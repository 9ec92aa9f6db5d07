# SPDX-License-Identifier: Apache-2.0
"""HTTP: sockets, who may ask, and the applications that answer."""
