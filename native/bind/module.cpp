// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include "bindings.hpp"

NB_MODULE(_core, module) {
  module.doc() = "The native core of aboard; see native/core for what each part promises.";
#if defined(NDEBUG)
  // Writers and their threads live until the process ends; that is no leak.
  nanobind::set_leak_warnings(false);
  module.attr("is_debug_build") = false;
#else
  module.attr("is_debug_build") = true;
#endif
  aboard::bind_records(module);
  aboard::bind_message(module);
  aboard::bind_histogram(module);
  aboard::bind_event_log(module);
  aboard::bind_logdir(module);
  aboard::bind_log_tree(module);
  aboard::bind_inspection(module);
  aboard::bind_messages(module);
  aboard::bind_tag_index(module);
}
