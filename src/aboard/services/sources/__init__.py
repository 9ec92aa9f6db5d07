# SPDX-License-Identifier: Apache-2.0
"""Read-only sources: folders and buckets of event files whose runs a server shows beside those of its stores."""
