# SPDX-License-Identifier: Apache-2.0
"""The use cases of a server: stores are changed first, then the catalog. `services.Services` is the facade."""
