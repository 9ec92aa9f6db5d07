// SPDX-License-Identifier: Apache-2.0
#include "tag_index.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>

#include <array>
#include <set>

#include "bindings.hpp"
#include "points_json.hpp"
#include "tag_table.hpp"
#include "without_gil.hpp"

namespace nb = nanobind;

namespace aboard {
namespace {

// Runs by name, as JSON strings: the name of a folder need not be text.
using Runs = std::vector<std::pair<std::string, std::shared_ptr<TagIndex>>>;

// The text of a str; none when it is no text but carries bytes that were none.
std::optional<std::string_view> utf8_of(nb::handle text) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes == nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return std::string_view(bytes, static_cast<size_t>(size));
}

// Those of `given` from number `begin` on, `count` at the most.
Runs runs_of(const nb::list& given, size_t begin = 0, size_t count = SIZE_MAX) {
  Runs runs;
  const size_t end = begin + std::min(count, given.size() - std::min(begin, given.size()));
  runs.reserve(end - begin);
  for (size_t at = begin; at < end; ++at) {
    const auto pair = nb::cast<nb::tuple>(given[at]);
    runs.emplace_back(view_of(nb::cast<nb::bytes>(pair[0])), nb::cast<std::shared_ptr<TagIndex>>(pair[1]));
  }
  return runs;
}

// {"run": …} with what `append` says of each run; runs of which it says nothing are left out.
template <typename Append>
nb::bytes object_of(const Runs& runs, const Append& append) {
  std::string json = "{";
  {
    const WithoutGil release;
    for (const auto& [name, index] : runs) {
      const size_t before = json.size();
      if (before > 1) json.push_back(',');
      json += name;
      json.push_back(':');
      if (!append(json, *index)) json.resize(before);
    }
    json.push_back('}');
  }
  return bytes_of(json);
}

nb::bytes names_json(const nb::list& runs, std::string_view plugin, uint8_t data_class) {
  return object_of(runs_of(runs), [&](std::string& json, TagIndex& index) {
    return index.append_names(json, plugin, static_cast<DataClass>(data_class));
  });
}

nb::bytes display_names_json(const nb::list& runs, std::string_view plugin, uint8_t data_class, const nb::dict& html) {
  TagIndex::Texts texts;
  for (const auto [description, text] : html) {
    if (const auto key = utf8_of(description)) texts.emplace(*key, view_of(nb::cast<nb::bytes>(text)));
  }
  return object_of(runs_of(runs), [&](std::string& json, TagIndex& index) {
    return index.append_display_names(json, plugin, static_cast<DataClass>(data_class), texts);
  });
}

// A bytes object that `write` fills, given the room and returning the end. Nothing is copied, and what is not used of
// the room is never touched.
template <typename Write>
nb::object bytes_written(size_t room, const Write& write) {
  nb::object bytes = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(room)));
  if (!bytes.is_valid()) nb::raise_python_error();
  char* const begin = PyBytes_AS_STRING(bytes.ptr());
  const char* end;
  {
    const WithoutGil release;
    end = write(begin);
  }
  PyObject* shortened = bytes.release().ptr();
  if (_PyBytes_Resize(&shortened, end - begin) != 0) nb::raise_python_error();
  return nb::steal(shortened);
}

// Entries "run":[…] of the runs from number `begin` on, until there are about `enough` bytes; and which run is the
// next.
nb::tuple points_json_of_runs(const nb::list& runs, size_t begin, std::string_view plugin, const nb::str& tag,
                              size_t budget, bool objects, size_t enough) {
  constexpr size_t kRunsAtOnce = 16, kUsualPoint = 70;
  const auto name = utf8_of(tag);
  std::vector<std::pair<std::string, ColumnView>> curves;
  size_t room = 0, usual = 0;
  while (begin < runs.size() && usual < enough) {
    Runs some = runs_of(runs, begin, kRunsAtOnce);
    begin += some.size();
    const WithoutGil release;
    for (auto& [run, index] : some) {
      const auto number = name ? index->number(plugin, DataClass::scalar, *name) : std::nullopt;
      ColumnView points = number ? index->logdir().scalars(*number, true) : ColumnView{};
      if (points.size == 0) continue;
      const size_t count = std::min(points.size, budget);
      room += run.size() + 2 + longest_points_json(count);
      usual += run.size() + count * kUsualPoint;
      curves.emplace_back(std::move(run), std::move(points));
    }
  }
  if (curves.empty()) return nb::make_tuple(nb::bytes("", 0), begin);
  const auto form = objects ? PointsForm::objects : PointsForm::triples;
  const auto write = [&](char* at) {
    bool is_first = true;
    for (const auto& [run, points] : curves) {
      if (!is_first) *at++ = ',';
      is_first = false;
      at += run.copy(at, run.size());
      *at++ = ':';
      at = put_points_json(at, points, budget, form);
    }
    return at;
  };
  return nb::make_tuple(bytes_written(room, write), begin);
}

std::vector<std::shared_ptr<TagIndex>> indexes_of(const nb::list& given) {
  std::vector<std::shared_ptr<TagIndex>> indexes;
  for (const nb::handle index : given) indexes.push_back(nb::cast<std::shared_ptr<TagIndex>>(index));
  return indexes;
}

// (number of the run, its tags that have points) of each run that has any
nb::list with_points(const nb::list& given, std::string_view plugin, uint8_t data_class) {
  const auto indexes = indexes_of(given);
  std::vector<std::pair<size_t, std::vector<TagIndex::Found>>> found;
  {
    const WithoutGil release;
    for (size_t run = 0; run < indexes.size(); ++run) {
      auto tags = indexes[run]->with_points(plugin, static_cast<DataClass>(data_class));
      if (!tags.empty()) found.emplace_back(run, std::move(tags));
    }
  }
  nb::list result;
  for (auto& [run, tags] : found) {
    nb::list rows;
    for (TagIndex::Found& tag : tags) rows.append(std::move(tag));
    result.append(nb::make_tuple(run, rows));
  }
  return result;
}

// A number that is another one when runs come, go, get another name or anything new to show.
uint64_t stamp_of(const nb::list& runs) {
  const Runs all = runs_of(runs);
  const WithoutGil release;
  uint64_t stamp = 0;
  for (const auto& [name, index] : all) {
    const std::array<uint64_t, 2> state{index->serial(), index->logdir().version()};
    stamp = keyed_hash(name, stamp);
    stamp = keyed_hash({reinterpret_cast<const char*>(state.data()), sizeof state}, stamp);
  }
  return stamp;
}

// (number of the run, tag, description) of each tag that has one
nb::list described_tags(const nb::list& given, std::string_view plugin, uint8_t data_class) {
  const auto indexes = indexes_of(given);
  std::vector<std::pair<size_t, TagIndex::Described>> found;
  {
    const WithoutGil release;
    for (size_t run = 0; run < indexes.size(); ++run) {
      for (auto& one : indexes[run]->descriptions(plugin, static_cast<DataClass>(data_class))) {
        found.emplace_back(run, std::move(one));
      }
    }
  }
  nb::list result;
  for (const auto& [run, one] : found) {
    result.append(nb::make_tuple(run, text_of(one.name), text_of(one.description)));
  }
  return result;
}

std::optional<TagIndex::Found> find(TagIndex& self, const nb::str& plugin, const nb::str& name) {
  const auto of = utf8_of(plugin), called = utf8_of(name);
  if (!of || !called) return std::nullopt;
  return without_gil([&] { return self.find(*of, *called); });
}

nb::typed<nb::set, nb::str> plugins_of(const nb::list& indexes) {
  const auto all = indexes_of(indexes);
  std::set<std::string> plugins;
  {
    const WithoutGil release;
    for (const auto& index : all) {
      for (std::string& plugin : index->plugins()) plugins.insert(std::move(plugin));
    }
  }
  nb::typed<nb::set, nb::str> result;
  for (const std::string& plugin : plugins) result.add(text_of(plugin));
  return result;
}

}  // namespace

void bind_tag_index(nb::module_& module) {
  using Row = TagIndex::Found;
  nb::class_<Row>(module, "TagRow", "A tag of a logdir, and what it is to TensorBoard.")
      .def_ro("number", &Row::number)
      .def_prop_ro("name", [](const Row& self) { return text_of(self.name); })
      .def_prop_ro("source", [](const Row& self) { return static_cast<int>(self.source); })
      .def_prop_ro("kind", [](const Row& self) { return static_cast<int>(self.kind); })
      .def_prop_ro("plugin", [](const Row& self) { return text_of(self.plugin); })
      .def_prop_ro("content", [](const Row& self) { return bytes_of(self.content); })
      .def_prop_ro("display_name", [](const Row& self) { return text_of(self.display_name); })
      .def_prop_ro("description", [](const Row& self) { return text_of(self.description); })
      .def_prop_ro("data_class", [](const Row& self) { return static_cast<int>(self.data_class); })
      .def_prop_ro("status", [](const Row& self) { return self.status; });
  nb::class_<TagIndex>(module, "TagIndex", "The tags of a logdir by plugin and name; see native/core/tag_index.hpp.")
      .def(nb::new_([](const std::shared_ptr<Logdir>& logdir) {
             return ending_without_gil(std::make_shared<TagIndex>(logdir));
           }),
           nb::arg("logdir"))
      .def("__len__", &TagIndex::size, nb::call_guard<WithoutGil>())
      .def("find", &find, nb::sig("def find(self, plugin: str, name: str, /) -> TagRow | None"));
  module.def("tags_with_points", &with_points,
             nb::sig("def tags_with_points(indexes: list[TagIndex], plugin: str, data_class: int, /) -> "
                     "list[tuple[int, list[TagRow]]]"),
             "(number of the index, its tags that have points, in the order in which they were first seen), if any.");
  module.def("described_tags", &described_tags,
             nb::sig("def described_tags(indexes: list[TagIndex], plugin: str, data_class: int, /) -> "
                     "list[tuple[int, str, str]]"),
             "(number of the index, tag, description) of each tag that has points and a description.");
  module.def("plugins_of", &plugins_of, nb::sig("def plugins_of(indexes: list[TagIndex], /) -> set[str]"),
             "The plugins that any of them has tags of.");
  // Of runs by name, which is a JSON string, those that have nothing to show are left out.
  module.def("stamp_of", &stamp_of, nb::sig("def stamp_of(runs: list[tuple[bytes, TagIndex]], /) -> int"),
             "A number that changes when runs come, go, get another name or anything new to show.");
  module.def("names_json", &names_json,
             nb::sig("def names_json(runs: list[tuple[bytes, TagIndex]], plugin: str, data_class: int, /) -> bytes"),
             "{\"run\": [\"tag\", …]}, where runs have JSON strings as names.");
  module.def(
      "display_names_json", &display_names_json,
      nb::sig("def display_names_json(runs: list[tuple[bytes, TagIndex]], plugin: str, data_class: int, "
              "html: dict[str, bytes], /) -> bytes"),
      "{\"run\": {\"tag\": {\"displayName\": …, \"description\": …}}}; `html` has descriptions as JSON strings.");
  module.def(
      "points_json", &points_json_of_runs,
      nb::sig("def points_json(runs: list[tuple[bytes, TagIndex]], begin: int, plugin: str, tag: str, budget: int, "
              "objects: bool, enough: int, /) -> tuple[bytes, int]"),
      "Entries \"run\": points, as in `Points.json`, from run `begin` on until there are `enough` bytes; the next "
      "run.");
}

}  // namespace aboard
