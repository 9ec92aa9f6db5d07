# SPDX-License-Identifier: Apache-2.0
"""One file per framework: a callback, logger or writer for it. A framework is imported with its file, and only then."""
