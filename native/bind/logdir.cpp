// SPDX-License-Identifier: Apache-2.0
#include "logdir.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <atomic>
#include <cmath>
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
#include "tag_meaning.hpp"
#include "without_gil.hpp"

namespace nb = nanobind;

namespace aboard {
namespace {

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

using PartOfFile = nb::typed<nb::tuple, nb::bytes, int, int>;  // its path, begin and end

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

template <typename Element>
nb::typed<nb::list, Element> list_of(std::vector<Element> elements) {
  nb::typed<nb::list, Element> list;
  for (Element& element : elements) list.append(std::move(element));
  return list;
}

nb::object read_media(const Logdir& logdir, size_t tag, const MediaEntry& entry) {
  const auto bytes = without_gil([&] { return logdir.read_media(tag, entry); });
  return bytes ? nb::object(bytes_of(*bytes)) : nb::none();
}

// The points cut where a step is smaller than the one before: each attempt starts over.
nb::typed<nb::list, ColumnView> ascending(const ColumnView& points) {
  nb::typed<nb::list, ColumnView> parts;
  const auto steps = points.steps();
  for (size_t begin = 0, at = 1; begin < points.size; ++at) {
    if (at < points.size && steps[at] >= steps[at - 1]) continue;
    parts.append(ColumnView{points.block, points.begin + begin, at - begin});
    begin = at;
  }
  return parts;
}

// Tags that many logdirs have share one str.
struct TagSummary {
  nb::str tag;
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
  std::unordered_map<std::string_view, std::optional<nb::str>> names;
  nb::list result;
  for (const auto& summaries : found) {
    nb::list of_one;
    for (const NamedSummary& one : summaries) {
      auto& tag = names[one.tag];
      if (!tag) tag = text_of(one.tag);
      of_one.append(TagSummary{*tag, one.summary});
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

void bind_points(nb::module_& module) {
  nb::class_<ColumnView>(module, "Points", "Scalar points as columns, unchanged for as long as they are held.")
      .def_prop_ro(
          "steps", [](const ColumnView& self) { return column<int64_t>(self, self.steps()); }, nb::rv_policy::automatic)
      .def_prop_ro(
          "wall_times", [](const ColumnView& self) { return column<double>(self, self.wall_times()); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "values", [](const ColumnView& self) { return column<double>(self, self.values()); },
          nb::rv_policy::automatic)
      .def("__len__", [](const ColumnView& self) { return self.size; })
      .def("reduced", &reduced, nb::call_guard<WithoutGil>(), nb::sig("def reduced(self, budget: int, /) -> Points"),
           "At most `budget` points that keep first, last, smallest, largest and NaN of every bucket.")
      .def("reduced_with_means", &reduced_with_means,
           nb::sig("def reduced_with_means(self, budget: int, /) -> tuple[Points, "
                   "numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]"),
           "The same, and for each of them the mean of the finite values since the one before, and how many these are.")
      .def("window", &window, nb::sig("def window(self, first: int, last: int, /) -> Points"),
           "The points with steps in [first, last] and one more on either side; steps must be ascending.")
      .def("ascending", &ascending,
           "Parts whose steps ascend, in their order: points of several attempts go back to an earlier step.")
      .def(
          "json",
          [](const ColumnView& self, bool objects) {
            std::string text;
            {
              const WithoutGil release;
              text = points_json(self, objects ? PointsForm::objects : PointsForm::triples);
            }
            return bytes_of(text);
          },
          nb::sig("def json(self, objects: bool, /) -> bytes"));
}

void bind_summaries(nb::module_& module) {
  nb::class_<ScalarPoint>(module, "ScalarPoint")
      .def_ro("step", &ScalarPoint::step)
      .def_ro("wall_time", &ScalarPoint::wall_time)
      .def_ro("value", &ScalarPoint::value);
  constexpr auto kWithin = nb::rv_policy::reference_internal;
  nb::class_<TagSummary>(module, "TagSummary",
                         "The summary of a scalar tag, over the newest point of each step, ascending by step.\n\n"
                         "NaN is a first or last value like others, but never the smallest or largest; of equal values "
                         "the earlier counts.")
      .def_ro("tag", &TagSummary::tag)
      .def_prop_ro(
          "count", [](const TagSummary& self) { return self.summary.count; },
          "All points, also those of a step that was logged again later.")
      .def_prop_ro(
          "first", [](const TagSummary& self) { return &self.summary.first; }, kWithin)
      .def_prop_ro(
          "last", [](const TagSummary& self) { return &self.summary.last; }, kWithin)
      .def_prop_ro("smallest", &extreme<&ScalarSummary::smallest>, kWithin,
                   nb::for_getter(nb::sig("def smallest(self) -> ScalarPoint | None")), "None when every value is NaN.")
      .def_prop_ro("largest", &extreme<&ScalarSummary::largest>, kWithin,
                   nb::for_getter(nb::sig("def largest(self) -> ScalarPoint | None")));
  module.def("scalar_summaries", &scalar_summaries, nb::arg("logdirs"), nb::arg("threads") = 1,
             nb::sig("def scalar_summaries(logdirs: list[Logdir], threads: int = 1) -> list[list[TagSummary]]"),
             "For each logdir the summaries of its scalar tags with points, in the order in which the tags were first "
             "seen.\n\nComputes without the GIL, and needs no numpy.");
}

nb::tuple meaning_tuple(const TagInfo& tag) {
  const TagMeaning meaning = meaning_of(tag.name, tag.source, tag.kind, tag.metadata);
  return nb::make_tuple(text_of(meaning.plugin), bytes_of(meaning.content), text_of(meaning.display_name),
                        text_of(meaning.description), static_cast<int>(meaning.data_class));
}

// Of all tags, by number: objects are made of those only that somebody looks at.
struct TagStatuses {
  std::vector<TagStatus> of_tags;

  size_t points() const {
    size_t sum = 0;
    for (const TagStatus& status : of_tags) sum += status.count + status.superseded;
    return sum;
  }
  std::optional<double> newest_wall_time() const {
    std::optional<double> newest;
    for (const TagStatus& status : of_tags) {
      const double time = status.last_wall_time;
      if (std::isfinite(time) && (!newest || time > *newest)) newest = time;
    }
    return newest;
  }
  const TagStatus& at(size_t tag) const {
    if (tag >= of_tags.size()) throw nb::index_error();
    return of_tags[tag];
  }
};

nb::tuple fields_of(const TagStatus& status) {
  return nb::make_tuple(status.count, status.superseded, status.last_step, status.last_wall_time);
}

// What a logdir says of its tags and files, one object of each kind.
void bind_rows(nb::module_& module) {
  nb::class_<TagStatus>(module, "TagStatus", "How far a tag has come: shown and superseded points, and the last one.")
      .def_ro("points", &TagStatus::count)
      .def_ro("superseded", &TagStatus::superseded)
      .def_ro("last_step", &TagStatus::last_step)
      .def_ro("last_wall_time", &TagStatus::last_wall_time)
      .def(
          "__eq__",
          [](const TagStatus& self, const TagStatus& other) { return fields_of(self).equal(fields_of(other)); },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", [](const TagStatus& self) { return nb::str("TagStatus{!r}").format(fields_of(self)); });
  nb::class_<TagStatuses>(module, "TagStatuses", "How far all tags have come, by number.")
      .def("__len__", [](const TagStatuses& self) { return self.of_tags.size(); })
      .def("__getitem__", &TagStatuses::at, nb::sig("def __getitem__(self, tag: int, /) -> TagStatus"))
      .def_prop_ro("points", &TagStatuses::points, "Of all tags together, superseded ones too.")
      .def_prop_ro("newest_wall_time", &TagStatuses::newest_wall_time, "None where no tag has a finite one.");
  nb::class_<TagInfo>(module, "TagInfo", "A tag as its first value was.")
      .def(
          "__init__",
          [](TagInfo* self, std::string_view name, int source, int kind, const nb::bytes& metadata) {
            new (self) TagInfo{.name = std::string(name),
                               .source = static_cast<TagSource>(source),
                               .kind = static_cast<ValueKind>(kind),
                               .present = true,
                               .metadata = std::string(view_of(metadata))};
          },
          nb::sig("def __init__(self, name: str, source: int, kind: int, metadata: bytes, /) -> None"))
      .def_prop_ro("name", [](const TagInfo& self) { return text_of(self.name); })
      .def_prop_ro("source", [](const TagInfo& self) { return static_cast<int>(self.source); })
      .def_prop_ro("kind", [](const TagInfo& self) { return static_cast<int>(self.kind); })
      .def_ro("present", &TagInfo::present,
              "False: it was there before the logdir was read again, and keeps its number.")
      .def("meaning", &meaning_tuple, nb::sig("def meaning(self) -> tuple[str, bytes, str, str, int]"),
           "Plugin, content, display name, description and data class.");
  nb::class_<MediaEntry>(module, "TagEntry", "Where a value that is not a number lies in the logdir's files.")
      .def_ro("step", &MediaEntry::step)
      .def_ro("wall_time", &MediaEntry::wall_time)
      .def_ro("offset", &MediaEntry::offset, "Of the record's payload in its file.")
      .def_ro("length", &MediaEntry::length)
      .def_ro("file", &MediaEntry::file, "The place of the file in `Logdir.files`.")
      .def_ro("value_index", &MediaEntry::value_index, "Which value of the summary.");
  nb::class_<FileStatus>(module, "FileStatus", "How far reading a file came, and what in it is damaged.")
      .def_prop_ro("name", [](const FileStatus& self) { return bytes_of(self.name); })
      .def_ro("bytes_read", &FileStatus::bytes_read)
      .def_ro("size", &FileStatus::bytes)
      .def_ro("records", &FileStatus::records)
      .def_prop_ro(
          "bad_records", [](const FileStatus& self) { return self.damage.bad_records; },
          "Skipped: they do not match their checksum, or are no event.")
      .def_prop_ro(
          "skipped_bytes", [](const FileStatus& self) { return self.damage.skipped_bytes; },
          "Between damaged places and the next valid record.")
      .def_prop_ro(
          "first_damage", [](const FileStatus& self) { return self.damage.first_offset; }, "0 when there is none.")
      .def_ro("error", &FileStatus::error, "The number of the system's error; 0 when it can be read.")
      .def_ro("first_wall_time", &FileStatus::first_wall_time, "Of the first event; infinite when there is none.")
      .def_ro("last_wall_time", &FileStatus::last_wall_time, "The latest; minus infinity when there is none.")
      .def_ro("attempt", &FileStatus::attempt, "Which start of the training process wrote it, from 0 on.");
}

}  // namespace

void bind_logdir(nb::module_& module) {
  bind_points(module);
  bind_rows(module);

  nb::class_<Logdir>(module, "Logdir", "A folder with event files, decoded and followed; see native/core/logdir.hpp.")
      .def(nb::new_([](const nb::bytes& path, const nb::bytes& index, const std::optional<PartOfFile>& packed,
                       const std::optional<nb::bytes>& within) {
             PackedPlace place;
             if (packed) {
               place = {std::string(view_of(nb::cast<nb::bytes>((*packed)[0]))), nb::cast<uint64_t>((*packed)[1]),
                        nb::cast<uint64_t>((*packed)[2])};
             }
             std::string own(view_of(path));
             ReadPath folder = within ? ReadPath(std::move(own), view_of(*within)) : ReadPath(std::move(own));
             return ending_without_gil(std::make_shared<Logdir>(std::move(folder), std::string(view_of(index)), place));
           }),
           nb::arg("path"), nb::arg("index") = nb::bytes("", 0), nb::arg("packed") = nb::none(),
           nb::arg("within") = nb::none(),
           "Begins from the index file; without one from the packed form, a part of a file, if that is named.\n\n"
           "`within` is a folder at or above `path`; no symbolic link below it is followed.")
      .def(
          "refresh",
          [](Logdir& self, const nb::list& names) {
            const auto files = strings_of(names);
            const WithoutGil release;
            return self.refresh(files);
          },
          nb::sig("def refresh(self, names: list[bytes], /) -> bool"),
          "Read what is new in its event files. Whether anything changed.")
      .def(
          "set_absent",
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
          },
          nb::sig("def set_absent(self, parts: list[tuple[bytes, int, list[int]]], /) -> None"),
          "Say of which files something is not on this machine now, where that ends (0: nowhere), and which records "
          "are\n"
          "hollow: large ones, whose inner parts are not here and not needed to read the others.")
      .def_prop_ro("wants_absent", &Logdir::wants_absent,
                   "Whether the last refresh did nothing, because it would have had to read such a part.")
      .def("save_index", &Logdir::save_index, nb::call_guard<WithoutGil>(),
           "Keep what was decoded in the index file; 0 or the number of the system's error.")
      .def(
          "pack",
          [](Logdir& self) -> nb::object {
            std::optional<std::string> packed;
            {
              const WithoutGil release;
              packed = self.pack();
            }
            return packed ? nb::object(bytes_of(*packed)) : nb::none();
          },
          nb::sig("def pack(self) -> bytes | None"),
          "What was decoded, in a form that travels; None when that cannot be said now.")
      .def_prop_ro("unsaved_bytes", &Logdir::unsaved_bytes, "Bytes of event files whose points are not in the index.")
      .def_prop_ro("saved_bytes", &Logdir::saved_bytes, "And those whose points are.")
      .def_prop_ro("path", [](const Logdir& self) { return bytes_of(self.path()); })
      .def_prop_ro("version", &Logdir::version)
      .def_prop_ro("generation", &Logdir::generation, nb::call_guard<WithoutGil>())
      .def_prop_ro("bytes_read", &Logdir::bytes_read)
      .def_prop_ro("first_wall_time", &Logdir::first_wall_time, nb::call_guard<WithoutGil>())
      .def(
          "tags",
          [](const Logdir& self, size_t first) { return list_of(without_gil([&] { return self.tags(first); })); },
          nb::sig("def tags(self, first: int, /) -> list[TagInfo]"), "The tags from number `first` on.")
      .def(
          "other_kinds",
          [](const Logdir& self) {
            nb::typed<nb::dict, int, int> result;
            for (const auto& [tag, kind] : without_gil([&] { return self.other_kinds(); })) {
              result[nb::int_(tag)] = static_cast<int>(kind);
            }
            return result;
          },
          "The numbers of tags under which another kind of data was logged as well, which is left out, and its kind.")
      .def("statuses", [](const Logdir& self) { return TagStatuses{without_gil([&] { return self.tag_statuses(); })}; })
      .def(
          "status",
          [](const Logdir& self, size_t tag) {
            return without_gil([&] { return self.tag_status(tag); }).value_or(TagStatus{});
          },
          nb::sig("def status(self, tag: int, /) -> TagStatus"), "Zeros when there is no such tag.")
      .def("scalars", &Logdir::scalars, nb::call_guard<WithoutGil>(),
           nb::sig("def scalars(self, tag: int, unique: bool, /) -> Points"),
           "All points; with `unique` in the order of their steps, the newest of each.")
      .def("superseded", &Logdir::superseded_scalars, nb::call_guard<WithoutGil>(),
           nb::sig("def superseded(self, tag: int, /) -> Points"))
      .def(
          "media", [](const Logdir& self, size_t tag) { return list_of(without_gil([&] { return self.media(tag); })); },
          nb::sig("def media(self, tag: int, /) -> list[TagEntry]"))
      .def("read_media", &read_media, nb::sig("def read_media(self, tag: int, entry: TagEntry, /) -> bytes | None"),
           "The content of an entry; None when its file has changed.")
      .def(
          "files", [](const Logdir& self) { return list_of(without_gil([&] { return self.files(); })); },
          "In the order of their history.")
      .def(
          "summary",
          [](const Logdir& self) -> nb::typed<nb::tuple, int, double, bool> {
            const ReadingSummary summary = without_gil([&] { return self.summary(); });
            return nb::make_tuple(summary.bytes_read, summary.last_wall_time, summary.failed);
          },
          "Of all files: bytes read, latest wall time (0 when there is none), whether some could not be read.");

  bind_summaries(module);
  module.def("refresh_logdirs", &refresh_logdirs,
             nb::sig("def refresh_logdirs(work: list[tuple[Logdir, list[bytes]]], threads: int, /) -> int"),
             "Refresh each logdir with the names of its files. How many changed.");
  module.def(
      "give_back_memory",
      [] {
#if defined(__GLIBC__)
        ::malloc_trim(0);
#endif
      },
      nb::call_guard<WithoutGil>(),
      "Give memory that was freed back to the system, which the C library would keep for later.");
}

}  // namespace aboard
