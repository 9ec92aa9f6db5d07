// SPDX-License-Identifier: Apache-2.0
#include "histogram.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"

namespace nb = nanobind;

namespace aboard {

void bind_histogram(nb::module_& module) {
  module.def("default_histogram_edges", [] {
    const auto edges = default_histogram_edges();
    return std::vector<double>(edges.begin(), edges.end());
  });
}

}  // namespace aboard
