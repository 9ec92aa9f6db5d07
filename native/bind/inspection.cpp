// SPDX-License-Identifier: Apache-2.0
#include "inspection.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <optional>
#include <vector>

#include "bindings.hpp"
#include "without_gil.hpp"

namespace nb = nanobind;

namespace aboard {
namespace {

// (how many, bytes, first places) of one kind of damage.
nb::tuple damage_tuple(const FileReport& report, size_t kind) {
  const DamageSum& sum = report.damage.at(kind);
  nb::list places;
  for (const Place& place : sum.places) places.append(nb::make_tuple(place.begin, place.end));
  return nb::make_tuple(sum.count, sum.bytes, places);
}

using Tail = nb::typed<nb::tuple, int, int, std::optional<int>>;
std::optional<Tail> tail_tuple(const FileReport& report) {
  if (!report.tail) return std::nullopt;
  return Tail(nb::make_tuple(report.tail->offset, report.tail->bytes, report.tail->missing));
}

using Jumps = nb::typed<nb::tuple, int, nb::typed<nb::list, nb::typed<nb::tuple, int, double, double>>>;
Jumps jumps_tuple(const ClockJumps& jumps) {
  nb::list places;
  for (const ClockJump& jump : jumps.places) places.append(nb::make_tuple(jump.offset, jump.from, jump.to));
  return nb::make_tuple(jumps.count, places);
}

template <typename Element>
nb::typed<nb::list, Element> list_of(const std::vector<Element>& elements) {
  nb::typed<nb::list, Element> list;
  for (const Element& element : elements) list.append(element);
  return list;
}

}  // namespace

void bind_inspection(nb::module_& module) {
  nb::class_<StepFall>(module, "StepFall", "A tag whose steps go back.")
      .def_prop_ro("tag", [](const StepFall& self) { return text_of(self.tag); })
      .def_ro("offset", &StepFall::offset, "Of the first record that goes back.")
      .def_ro("from_step", &StepFall::from)
      .def_ro("to_step", &StepFall::to)
      .def_ro("count", &StepFall::count, "How often in all.");
  nb::class_<KindClash>(module, "KindClash", "A tag with two kinds of data, as field numbers of Summary.Value.")
      .def_prop_ro("tag", [](const KindClash& self) { return text_of(self.tag); })
      .def_ro("offset", &KindClash::offset, "Of the first record of the second kind.")
      .def_prop_ro("first_kind", [](const KindClash& self) { return static_cast<int>(self.first); })
      .def_prop_ro("second_kind", [](const KindClash& self) { return static_cast<int>(self.second); });

  nb::class_<FileReport>(module, "FileReport",
                         "What an inspection found; see native/core/inspection.hpp. Offsets are those of records.")
      .def_ro("error", &FileReport::error)
      .def_ro("copy_error", &FileReport::copy_error)
      .def_ro("cancelled", &FileReport::cancelled)
      .def_ro("size", &FileReport::size)
      .def_ro("read_to", &FileReport::read_to)
      .def_ro("records", &FileReport::records)
      .def_ro("copied_bytes", &FileReport::copied_bytes)
      .def("damage", &damage_tuple, nb::sig("def damage(self, kind: int, /) -> tuple[int, int, list[tuple[int, int]]]"),
           "How many places, their bytes and the first (begin, end) of a kind: payload, no event, too long, header.")
      .def_prop_ro("tail", &tail_tuple,
                   "Offset and bytes of a record that was cut off, and how many bytes it lacks if that is known.")
      .def_ro("begins_with_version", &FileReport::begins_with_version)
      .def_ro("first_wall_time", &FileReport::first_wall_time)
      .def_ro("last_wall_time", &FileReport::last_wall_time)
      .def_ro("lowest_step", &FileReport::lowest_step)
      .def_ro("highest_step", &FileReport::highest_step)
      .def_ro("restarts", &FileReport::restarts)
      .def_prop_ro(
          "step_falls", [](const FileReport& self) { return list_of(self.steps.falls()); }, "Of the first tags.")
      .def_prop_ro("total_step_falls", [](const FileReport& self) { return self.steps.total_falls(); })
      .def_prop_ro("fallen_tags", [](const FileReport& self) { return self.steps.fallen_tags(); })
      .def_prop_ro("kind_clashes", [](const FileReport& self) { return list_of(self.steps.clashes()); })
      .def_prop_ro("clashing_tags", [](const FileReport& self) { return self.steps.clashing_tags(); })
      .def_prop_ro("tags", [](const FileReport& self) { return self.steps.tags(); })
      .def_prop_ro("all_tags_followed", [](const FileReport& self) { return self.steps.all_followed(); })
      .def_prop_ro(
          "clock_back", [](const FileReport& self) { return jumps_tuple(self.back); },
          "How often, and the first (offset, from, to).")
      .def_prop_ro("clock_ahead", [](const FileReport& self) { return jumps_tuple(self.ahead); })
      .def_ro("events_without_time", &FileReport::events_without_time)
      .def_ro("first_without_time", &FileReport::first_without_time)
      .def_ro("nan_values", &FileReport::nan_values)
      .def_ro("infinite_values", &FileReport::infinite_values)
      .def_ro("bad_values", &FileReport::bad_values)
      .def_ro("first_bad_value", &FileReport::first_bad_value);

  nb::class_<Inspection>(
      module, "Inspection",
      "Reads one event file from beginning to end, checks it, and copies its whole records if asked to.")
      .def(nb::new_([](const nb::bytes& path, size_t most_places) {
             return std::make_unique<Inspection>(std::string(view_of(path)), most_places);
           }),
           nb::arg("path"), nb::arg("most_places"))
      .def("run", &Inspection::run, nb::arg("copy_to") = -1, nb::call_guard<WithoutGil>())
      .def("cancel", &Inspection::cancel)
      .def_prop_ro("bytes_read", &Inspection::bytes_read);
}

}  // namespace aboard
