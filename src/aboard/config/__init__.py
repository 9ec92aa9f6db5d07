# SPDX-License-Identifier: Apache-2.0
"""Settings from flags, environment and file as one frozen object, and stored logins. Standard library only."""
