// SPDX-License-Identifier: Apache-2.0
#include "logdir.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <unordered_map>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "bindings.hpp"
#include "points_json.hpp"
#include "reading_crew.hpp"
#include "reduce.hpp"
#include "without_gil.hpp"

namespace nb = nanobind;

namespace aboard {
namespace {

constexpr int kGone = -1;  // instead of the kind of a tag that was there before the logdir was read anew

template <typename Value>
using Column = nb::ndarray<nb::numpy, const Value, nb::ndim<1>>;

// A numpy array over the points' own memory, which it keeps alive.
template <typename Value>
Column<Value> column(const ColumnView& points, std::span<const Value> values) {
  auto owned = std::make_unique<std::shared_ptr<const ColumnBlock>>(points.block);
  const nb::capsule owner(owned.get(),
                          [](void* block) noexcept { delete static_cast<std::shared_ptr<const ColumnBlock>*>(block); });
  owned.release();
  return Column<Value>(values.data(), {values.size()}, owner);
}

std::vector<std::string> strings_of(const nb::list& names) {
  std::vector<std::string> strings;
  for (const nb::handle name : names) strings.emplace_back(view_of(nb::cast<nb::bytes>(name)));
  return strings;
}

ColumnView taken(const ColumnView& points, const std::vector<size_t>& kept) {
  auto block = std::make_shared<ColumnBlock>(kept.size());
  for (size_t i = 0; i < kept.size(); ++i) {
    block->steps[i] = points.steps()[kept[i]];
    block->wall_times[i] = points.wall_times()[kept[i]];
    block->values[i] = points.values()[kept[i]];
  }
  return {std::move(block), 0, kept.size()};
}

ColumnView reduced(const ColumnView& points, size_t budget) {
  return points.size <= budget ? points : taken(points, reduce(points, budget));
}

Column<double> column_of(std::vector<double> values) {
  auto owned = std::make_unique<std::vector<double>>(std::move(values));
  const nb::capsule owner(owned.get(), [](void* vector) noexcept { delete static_cast<std::vector<double>*>(vector); });
  const auto* const made = owned.release();
  return Column<double>(made->data(), {made->size()}, owner);
}

nb::tuple reduced_with_means(const ColumnView& points, size_t budget) {
  ColumnView kept_points;
  PartMeans parts;
  {
    const WithoutGil release;
    const std::vector<size_t> kept = reduce(points, budget);
    kept_points = taken(points, kept);
    parts = part_means(points.values(), kept);
  }
  return nb::make_tuple(kept_points, column_of(std::move(parts.means)), column_of(std::move(parts.counts)));
}

nb::list tags_of(const Logdir& logdir, size_t from) {
  nb::list result;
  for (const TagInfo& tag : without_gil([&] { return logdir.tags(from); })) {
    result.append(nb::make_tuple(text_of(tag.name), static_cast<int>(tag.source),
                                 tag.present ? static_cast<int>(tag.kind) : kGone, tag.is_scalar,
                                 bytes_of(tag.metadata)));
  }
  return result;
}

nb::tuple status_tuple(const TagStatus& status) {
  return nb::make_tuple(status.count, status.superseded, status.last_step, status.last_wall_time);
}

nb::list media_of(const Logdir& logdir, size_t tag) {
  nb::list result;
  for (const MediaEntry& entry : without_gil([&] { return logdir.media(tag); })) {
    result.append(
        nb::make_tuple(entry.step, entry.wall_time, entry.offset, entry.length, entry.file, entry.value_index));
  }
  return result;
}

nb::object read_media(const Logdir& logdir, size_t tag, const nb::tuple& place) {
  const MediaEntry entry{nb::cast<int64_t>(place[0]),  nb::cast<double>(place[1]),   nb::cast<uint64_t>(place[2]),
                         nb::cast<uint64_t>(place[3]), nb::cast<uint32_t>(place[4]), nb::cast<uint32_t>(place[5])};
  std::optional<std::string> bytes;
  {
    const WithoutGil release;
    bytes = logdir.read_media(tag, entry);
  }
  return bytes ? nb::object(bytes_of(*bytes)) : nb::none();
}

// The points cut where a step is smaller than the one before: each attempt starts over.
nb::list ascending(const ColumnView& points) {
  nb::list parts;
  const auto steps = points.steps();
  for (size_t begin = 0, at = 1; begin < points.size; ++at) {
    if (at < points.size && steps[at] >= steps[at - 1]) continue;
    parts.append(ColumnView{points.block, points.begin + begin, at - begin});
    begin = at;
  }
  return parts;
}

nb::list files_of(const Logdir& logdir) {
  nb::list result;
  for (const FileStatus& file : without_gil([&] { return logdir.files(); })) {
    result.append(nb::make_tuple(bytes_of(file.name), file.bytes_read, file.bytes, file.records,
                                 file.damage.bad_records, file.damage.skipped_bytes, file.damage.first_offset,
                                 file.error, file.first_wall_time, file.last_wall_time, file.attempt));
  }
  return result;
}

// Tags that many logdirs have share one str.
struct TagSummary {
  nb::object tag;
  ScalarSummary summary;
};

// Of each logdir the summaries of its scalar tags; computed on `threads` threads.
nb::list scalar_summaries(const nb::list& given, size_t threads) {
  std::vector<std::shared_ptr<Logdir>> logdirs;
  logdirs.reserve(given.size());
  for (const nb::handle logdir : given) logdirs.push_back(nb::cast<std::shared_ptr<Logdir>>(logdir));
  std::vector<std::vector<NamedSummary>> found(logdirs.size());
  {
    const WithoutGil release;
    constexpr size_t kAtOnce = 32;
    ReadingCrew crew(threads);
    crew.run((logdirs.size() + kAtOnce - 1) / kAtOnce, [&](size_t job) {
      const size_t end = std::min(logdirs.size(), (job + 1) * kAtOnce);
      for (size_t at = job * kAtOnce; at < end; ++at) found[at] = logdirs[at]->scalar_summaries();
    });
  }
  std::unordered_map<std::string_view, nb::object> names;
  nb::list result;
  for (const auto& summaries : found) {
    nb::list of_one;
    for (const NamedSummary& one : summaries) {
      nb::object& tag = names[one.tag];
      if (!tag.is_valid()) tag = text_of(one.tag);
      of_one.append(TagSummary{tag, one.summary});
    }
    result.append(of_one);
  }
  return result;
}

template <std::optional<ScalarPoint> ScalarSummary::* kWhich>
const ScalarPoint* extreme(const TagSummary& self) {
  const auto& point = self.summary.*kWhich;
  return point ? &*point : nullptr;
}

// Refreshes many logdirs on `threads` threads; the first exception is raised when all are done.
size_t refresh_logdirs(const nb::list& work, size_t threads) {
  std::vector<std::pair<std::shared_ptr<Logdir>, std::vector<std::string>>> jobs;
  for (const nb::handle item : work) {
    const auto pair = nb::cast<nb::tuple>(item);
    jobs.emplace_back(nb::cast<std::shared_ptr<Logdir>>(pair[0]), strings_of(nb::cast<nb::list>(pair[1])));
  }
  const WithoutGil release;
  std::atomic<size_t> changed{0};
  ReadingCrew crew(threads);
  crew.run(jobs.size(), [&](size_t job) {
    if (jobs[job].first->refresh(jobs[job].second, &crew)) ++changed;
  });
  return changed;
}

}  // namespace

void bind_logdir(nb::module_& module) {
  nb::class_<ColumnView>(module, "Points")
      .def_prop_ro(
          "steps", [](const ColumnView& self) { return column<int64_t>(self, self.steps()); }, nb::rv_policy::automatic)
      .def_prop_ro(
          "wall_times", [](const ColumnView& self) { return column<double>(self, self.wall_times()); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "values", [](const ColumnView& self) { return column<double>(self, self.values()); },
          nb::rv_policy::automatic)
      .def("__len__", [](const ColumnView& self) { return self.size; })
      .def("reduced", &reduced, nb::call_guard<WithoutGil>())
      .def("reduced_with_means", &reduced_with_means)
      .def("window", &window)
      .def("ascending", &ascending)
      .def("json", [](const ColumnView& self, bool objects) {
        std::string text;
        {
          const WithoutGil release;
          text = points_json(self, objects ? PointsForm::objects : PointsForm::triples);
        }
        return bytes_of(text);
      });

  nb::class_<ScalarPoint>(module, "ScalarPoint")
      .def_ro("step", &ScalarPoint::step)
      .def_ro("wall_time", &ScalarPoint::wall_time)
      .def_ro("value", &ScalarPoint::value);
  constexpr auto kWithin = nb::rv_policy::reference_internal;
  nb::class_<TagSummary>(module, "TagSummary")
      .def_ro("tag", &TagSummary::tag)
      .def_prop_ro("count", [](const TagSummary& self) { return self.summary.count; })
      .def_prop_ro(
          "first", [](const TagSummary& self) { return &self.summary.first; }, kWithin)
      .def_prop_ro(
          "last", [](const TagSummary& self) { return &self.summary.last; }, kWithin)
      .def_prop_ro("smallest", &extreme<&ScalarSummary::smallest>, kWithin)
      .def_prop_ro("largest", &extreme<&ScalarSummary::largest>, kWithin);

  nb::class_<Logdir>(module, "Logdir")
      .def(nb::new_([](const nb::bytes& path, const nb::bytes& index, const nb::object& packed,
                       const nb::object& within) {
             PackedPlace place;
             if (!packed.is_none()) {
               const auto fields = nb::cast<nb::tuple>(packed);
               place = {std::string(view_of(nb::cast<nb::bytes>(fields[0]))), nb::cast<uint64_t>(fields[1]),
                        nb::cast<uint64_t>(fields[2])};
             }
             ReadPath folder = within.is_none()
                                   ? ReadPath(std::string(view_of(path)))
                                   : ReadPath(std::string(view_of(path)), view_of(nb::cast<nb::bytes>(within)));
             return ending_without_gil(std::make_shared<Logdir>(std::move(folder), std::string(view_of(index)), place));
           }),
           nb::arg("path"), nb::arg("index") = nb::bytes("", 0), nb::arg("packed") = nb::none(),
           nb::arg("within") = nb::none())
      .def("refresh",
           [](Logdir& self, const nb::list& names) {
             const auto files = strings_of(names);
             const WithoutGil release;
             return self.refresh(files);
           })
      .def("set_absent",
           [](Logdir& self, const nb::list& parts) {
             std::vector<AbsentPart> absent;
             for (const nb::handle part : parts) {
               const auto fields = nb::cast<nb::tuple>(part);
               AbsentPart& one = absent.emplace_back();
               one.name = view_of(nb::cast<nb::bytes>(fields[0]));
               one.end = nb::cast<uint64_t>(fields[1]);
               for (const nb::handle offset : nb::cast<nb::list>(fields[2])) {
                 one.hollow.push_back(nb::cast<uint64_t>(offset));
               }
             }
             const WithoutGil release;
             self.set_absent(std::move(absent));
           })
      .def_prop_ro("wants_absent", &Logdir::wants_absent)
      .def("save_index", &Logdir::save_index, nb::call_guard<WithoutGil>())
      .def("pack",
           [](Logdir& self) -> nb::object {
             std::optional<std::string> packed;
             {
               const WithoutGil release;
               packed = self.pack();
             }
             return packed ? nb::object(bytes_of(*packed)) : nb::none();
           })
      .def_prop_ro("unsaved_bytes", &Logdir::unsaved_bytes)
      .def_prop_ro("saved_bytes", &Logdir::saved_bytes)
      .def_prop_ro("path", [](const Logdir& self) { return bytes_of(self.path()); })
      .def_prop_ro("version", &Logdir::version)
      .def_prop_ro("generation", &Logdir::generation, nb::call_guard<WithoutGil>())
      .def_prop_ro("bytes_read", &Logdir::bytes_read)
      .def_prop_ro("first_wall_time",
                   [](const Logdir& self) -> nb::object {
                     const auto first = without_gil([&] { return self.first_wall_time(); });
                     return first ? nb::object(nb::float_(*first)) : nb::none();
                   })
      .def("tags", &tags_of)
      .def("other_kinds",
           [](const Logdir& self) {
             nb::dict result;
             for (const auto& [tag, kind] : without_gil([&] { return self.other_kinds(); })) {
               result[nb::int_(tag)] = static_cast<int>(kind);
             }
             return result;
           })
      .def("statuses",
           [](const Logdir& self) {
             nb::list result;
             for (const TagStatus& status : without_gil([&] { return self.tag_statuses(); })) {
               result.append(status_tuple(status));
             }
             return result;
           })
      .def("status",
           [](const Logdir& self, size_t tag) -> nb::object {
             const auto status = without_gil([&] { return self.tag_status(tag); });
             return status ? nb::object(status_tuple(*status)) : nb::none();
           })
      .def("scalars", &Logdir::scalars, nb::call_guard<WithoutGil>())
      .def("superseded", &Logdir::superseded_scalars, nb::call_guard<WithoutGil>())
      .def("media", &media_of)
      .def("read_media", &read_media)
      .def("files", &files_of)
      .def("summary", [](const Logdir& self) {
        const ReadingSummary summary = without_gil([&] { return self.summary(); });
        return nb::make_tuple(summary.bytes_read, summary.last_wall_time, summary.failed);
      });

  module.def("refresh_logdirs", &refresh_logdirs);
  module.def("scalar_summaries", &scalar_summaries, nb::arg("logdirs"), nb::arg("threads") = 1);
  // Gives memory that was freed back to the system, which the C library would keep for later.
  module.def(
      "give_back_memory",
      [] {
#if defined(__GLIBC__)
        ::malloc_trim(0);
#endif
      },
      nb::call_guard<WithoutGil>());
}

}  // namespace aboard
