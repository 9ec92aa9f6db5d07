# SPDX-License-Identifier: Apache-2.0
"""Runs in object stores: what is new of them is copied to this machine, where they are read as folders are."""
