// SPDX-License-Identifier: Apache-2.0
#include "log_tree.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <memory>
#include <system_error>

#include "bindings.hpp"
#include "file_names.hpp"
#include "file_system.hpp"
#include "without_gil.hpp"

namespace nb = nanobind;

namespace aboard {
namespace {

std::shared_ptr<LogTree> make_log_tree(const nb::list& roots, bool notifications, std::optional<size_t> most_watches,
                                       const std::optional<nb::bytes>& within) {
  std::vector<std::string> paths;
  for (const nb::handle root : roots) paths.emplace_back(view_of(nb::cast<nb::bytes>(root)));
  LogTree::Options options;
  options.notifications = notifications;
  options.most_watches = most_watches;
  if (within) options.within = std::string(view_of(*within));
  try {
    // The kernel takes long to end many watches.
    return ending_without_gil(
        without_gil([&] { return std::make_shared<LogTree>(std::move(paths), std::move(options)); }));
  } catch (const std::system_error& error) {
    PyErr_SetObject(PyExc_OSError, nb::make_tuple(error.code().value(), error.what()).ptr());
    throw nb::python_error();
  }
}

// (gone, found, to read)
nb::tuple take(LogTree& self, double seconds) {
  LogTree::Changes changes;
  {
    const WithoutGil release;
    changes = self.take(seconds);
  }
  nb::list gone, found, to_read;
  for (const LogTree::Id id : changes.gone) gone.append(id);
  for (const LogTree::Found& logdir : changes.found) {
    found.append(nb::make_tuple(logdir.id, logdir.root, bytes_of(logdir.name), bytes_of(logdir.path)));
  }
  for (const LogTree::ToRead& logdir : changes.to_read) {
    nb::list files;
    for (const std::string& file : logdir.files) files.append(bytes_of(file));
    to_read.append(nb::make_tuple(logdir.id, files, logdir.bytes));
  }
  return nb::make_tuple(gone, found, to_read);
}

}  // namespace

void bind_log_tree(nb::module_& module) {
  module.def("punch_hole", &punch_hole, nb::arg("file"), nb::arg("begin"), nb::arg("end"),
             nb::call_guard<WithoutGil>());
  module.def("is_event_file", [](const nb::bytes& path) { return is_event_file(view_of(path)); });
  module.def("segment_of", [](const nb::bytes& path) -> nb::object {
    const auto segment = segment_of(view_of(path));
    return segment ? nb::object(nb::make_tuple(bytes_of(segment->file), segment->number)) : nb::none();
  });

  nb::class_<LogTree>(module, "LogTree")
      .def(nb::new_(&make_log_tree), nb::arg("roots"), nb::arg("notifications") = true,
           nb::arg("most_watches") = nb::none(), nb::arg("within") = nb::none())
      .def("look", &LogTree::look, nb::call_guard<WithoutGil>())
      .def_prop_ro("is_looking", &LogTree::is_looking, nb::call_guard<WithoutGil>())
      .def("take", &take)
      .def("watch", &LogTree::watch, nb::call_guard<WithoutGil>())
      .def("wait", &LogTree::wait, nb::call_guard<WithoutGil>())
      .def("wake", &LogTree::wake)
      .def("look_again", &LogTree::look_again, nb::call_guard<WithoutGil>())
      .def_prop_ro("counts", [](LogTree& self) {
        LogTree::Counts counts;
        {
          const WithoutGil release;
          counts = self.counts();
        }
        return nb::make_tuple(counts.folders, counts.watched);
      });
}

}  // namespace aboard
