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

std::shared_ptr<LogTree> make_log_tree(const nb::typed<nb::list, nb::bytes>& roots, bool notifications,
                                       std::optional<size_t> most_watches, const std::optional<nb::bytes>& within) {
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
  for (LogTree::Found& logdir : changes.found) found.append(std::move(logdir));
  for (LogTree::ToRead& logdir : changes.to_read) to_read.append(std::move(logdir));
  return nb::make_tuple(gone, found, to_read);
}

nb::typed<nb::list, nb::bytes> files_of(const LogTree::ToRead& self) {
  nb::typed<nb::list, nb::bytes> files;
  for (const std::string& file : self.files) files.append(bytes_of(file));
  return files;
}

}  // namespace

void bind_log_tree(nb::module_& module) {
  module.def("punch_hole", &punch_hole, nb::arg("file"), nb::arg("begin"), nb::arg("end"), nb::call_guard<WithoutGil>(),
             "Give disk space back; 0 or the number of the system's error.");
  module.def(
      "is_event_file", [](const nb::bytes& path) { return is_event_file(view_of(path)); },
      nb::sig("def is_event_file(path: bytes, /) -> bool"));
  module.def(
      "segment_of",
      [](const nb::bytes& path) -> nb::object {
        const auto segment = segment_of(view_of(path));
        return segment ? nb::object(nb::make_tuple(bytes_of(segment->file), segment->number)) : nb::none();
      },
      nb::sig("def segment_of(path: bytes, /) -> tuple[bytes, int] | None"),
      "The event file that `<event file>.<8 digits>` is a segment of, and its number; None for other names.");

  nb::class_<LogTree::Found>(module, "FoundLogdir", "A folder with event files that was not known before.")
      .def_ro("id", &LogTree::Found::id)
      .def_ro("root", &LogTree::Found::root, "The number of the root that it is below.")
      .def_prop_ro(
          "name", [](const LogTree::Found& self) { return bytes_of(self.name); },
          "Relative to the root, which is \".\".")
      .def_prop_ro("path", [](const LogTree::Found& self) { return bytes_of(self.path); });
  nb::class_<LogTree::ToRead>(module, "UnreadLogdir", "A logdir that may have something new.")
      .def_ro("id", &LogTree::ToRead::id)
      .def_prop_ro("files", &files_of)
      .def_ro("bytes", &LogTree::ToRead::bytes, "Of all its files.");

  nb::class_<LogTree>(module, "LogTree",
                      "The logdirs below some roots, found and followed; see native/core/log_tree.hpp.")
      .def(nb::new_(&make_log_tree), nb::arg("roots"), nb::arg("notifications") = true,
           nb::arg("most_watches") = nb::none(), nb::arg("within") = nb::none(),
           "`within` is a folder at or above all roots; no symbolic link below it is followed.")
      .def("look", &LogTree::look, nb::call_guard<WithoutGil>(), "Request a look at everything.")
      .def_prop_ro("is_looking", &LogTree::is_looking, nb::call_guard<WithoutGil>(),
                   "Whether some of it is still to be done.")
      .def("take", &take,
           nb::sig("def take(self, seconds: float, /) -> "
                   "tuple[list[int], list[FoundLogdir], list[UnreadLogdir]]"),
           "Look for so long at the most. The ids of logdirs that are gone, those found, and those to be read.")
      .def("watch", &LogTree::watch, nb::call_guard<WithoutGil>(),
           "Use notifications from now on, where the kernel has them; includes a look at everything.")
      .def("wait", &LogTree::wait, nb::call_guard<WithoutGil>(),
           nb::sig("def wait(self, pause: float, longest: float, /) -> bool"),
           "Wait until there is something to take, looking every `pause` seconds; False when there is not.")
      .def("wake", &LogTree::wake, "End a wait, or the next one.")
      .def("look_again", &LogTree::look_again, nb::call_guard<WithoutGil>(),
           nb::sig("def look_again(self, id: int, /) -> None"),
           "Hand out a logdir again after a while, and with every complete look: it could not all be read.")
      .def_prop_ro(
          "counts",
          [](LogTree& self) -> nb::typed<nb::tuple, int, int> {
            LogTree::Counts counts;
            {
              const WithoutGil release;
              counts = self.counts();
            }
            return nb::make_tuple(counts.folders, counts.watched);
          },
          "Folders, and those that the kernel watches.");
}

}  // namespace aboard
