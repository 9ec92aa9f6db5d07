# SPDX-License-Identifier: Apache-2.0
"""Accounts, logins, and the rate limit of failed login attempts."""
