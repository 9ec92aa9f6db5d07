# SPDX-License-Identifier: Apache-2.0
"""`SummaryWriter` and its low-level companions: convert what the caller has, hand it over, append it to event files."""
