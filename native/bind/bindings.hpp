// SPDX-License-Identifier: Apache-2.0
// One function per topic of the extension module.
//
// Types and docstrings for Python stand here, beside what they describe: `make stub` writes
// src/aboard/_native/_core.pyi from the built extension. Functions state their signature where C++ types say too
// little. They do not name parameters with `nb::arg` unless callers do, as nanobind then takes longer for each call.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

namespace aboard {

void bind_records(nanobind::module_& module);
void bind_message(nanobind::module_& module);
void bind_histogram(nanobind::module_& module);
void bind_event_log(nanobind::module_& module);
void bind_logdir(nanobind::module_& module);
void bind_log_tree(nanobind::module_& module);
void bind_inspection(nanobind::module_& module);
void bind_messages(nanobind::module_& module);
void bind_tag_index(nanobind::module_& module);

inline std::string_view view_of(const nanobind::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }
inline nanobind::bytes bytes_of(std::string_view view) { return nanobind::bytes(view.data(), view.size()); }

// Names in files and paths are bytes that should be UTF-8; what is not is replaced.
inline nanobind::str text_of(std::string_view bytes) {
  return nanobind::steal<nanobind::str>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

}  // namespace aboard
