# SPDX-License-Identifier: Apache-2.0
"""Units in Kubernetes by the official client: `executor.py` is the executor, the others are its parts.

This module imports nothing: the manifests can be read without the client.
"""
