# SPDX-License-Identifier: Apache-2.0
"""HTTP below the routes: addresses, limits, errors, logs, metrics, security headers, and the process that serves."""
