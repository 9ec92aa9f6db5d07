// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <thread>

#include "reader_support.hpp"
#include "tag_index.hpp"

namespace aboard::testing {
namespace {

// A logdir over one file that grows, and its index.
struct Followed {
  Folder folder;
  std::shared_ptr<Logdir> logdir = std::make_shared<Logdir>(folder.path().string());
  TagIndex index{logdir};

  Followed() { append(version_record(1)); }
  void append(std::string_view bytes) { append_to(folder.path() / "a.tfevents", bytes); }
  void refresh() { logdir->refresh(names_in(folder.path())); }
  std::string names(std::string_view plugin = "scalars", DataClass data_class = DataClass::scalar) {
    std::string json;
    index.append_names(json, plugin, data_class);
    return json;
  }
};

TEST(tags_are_listed_by_name_as_they_come) {
  Followed of;
  CHECK_EQ(of.names(), std::string());
  of.append(scalar_record("b", 1, 2, 1));
  of.append(scalar_record("c", 1, 2, 1));
  of.refresh();
  CHECK_EQ(of.names(), std::string("[\"b\",\"c\"]"));
  of.append(scalar_record("a", 1, 3, 1));
  of.append(scalar_record("bb", 1, 3, 1));
  of.refresh();
  CHECK_EQ(of.names(), std::string("[\"a\",\"b\",\"bb\",\"c\"]"));
  std::vector<size_t> numbers;
  for (const auto& found : of.index.with_points("scalars", DataClass::scalar)) numbers.push_back(found.number);
  CHECK_EQ(numbers, (std::vector<size_t>{0, 1, 2, 3}));
  CHECK_EQ(of.names("scalars", DataClass::tensor), std::string());
  CHECK_EQ(of.names("images"), std::string());
}

TEST(a_tag_is_found_by_its_name) {
  Followed of;
  of.append(scalar_record("loss", 7, 2, 1));
  of.append(record_of(3, 0, EventKind::summary, summary_of({value_of("loss", ValueKind::tensor, "", "text")})));
  of.append(record_of(3, 0, EventKind::summary, summary_of({value_of("said", ValueKind::tensor, "", "text")})));
  of.refresh();
  const auto found = of.index.find("scalars", "loss");
  CHECK(found && found->name == "loss" && found->display_name == "loss");
  CHECK(found && found->status.count == 1 && found->status.last_step == 7);
  CHECK_EQ(of.index.number("scalars", DataClass::scalar, "loss").value_or(99), 0u);
  CHECK(!of.index.number("scalars", DataClass::tensor, "loss"));
  CHECK(!of.index.find("scalars", "los"));
  CHECK(!of.index.find("images", "loss"));
  const auto text = of.index.find("text", "said");
  CHECK(text && text->data_class == DataClass::tensor && text->display_name.empty());
  auto plugins = of.index.plugins();
  std::ranges::sort(plugins);
  CHECK_EQ(plugins, (std::vector<std::string>{"scalars", "text"}));
}

TEST(names_that_are_no_text_are_found_as_they_are_shown) {
  Followed of;
  of.append(scalar_record("caf\xe9", 1, 2, 1));
  of.append(scalar_record("caf\xea", 1, 2, 1));
  of.refresh();
  CHECK_EQ(of.names(), std::string("[\"caf\xef\xbf\xbd\"]"));
  CHECK_EQ(of.index.number("scalars", DataClass::scalar, "caf\xef\xbf\xbd").value_or(99), 0u);
}

TEST(display_names_and_descriptions) {
  Followed of;
  // SummaryMetadata: plugin "scalars", display name "shown", description "said".
  const std::string metadata = "\x0a\x09\x0a\x07scalars\x12\x05shown\x1a\x04said";
  const std::string with_metadata =
      std::string("\x0a\x01x\x15", 4) + std::string(4, '\0') + "\x4a" + static_cast<char>(metadata.size()) + metadata;
  of.append(record_of(2, 0, EventKind::summary, summary_of({with_metadata})));
  of.append(scalar_record("y", 1, 2, 1));
  of.refresh();
  std::string json;
  CHECK(of.index.append_display_names(json, "scalars", DataClass::scalar, {{"said", "\"<p>said</p>\""}}));
  CHECK_EQ(json, std::string("{\"x\":{\"displayName\":\"shown\",\"description\":\"<p>said</p>\"},"
                             "\"y\":{\"displayName\":\"y\",\"description\":\"\"}}"));
  const auto described = of.index.descriptions("scalars", DataClass::scalar);
  CHECK_EQ(described.size(), 1u);
  CHECK_EQ(described.at(0).description, std::string("said"));
}

// A scalar with a field `version` in the data of its plugin.
std::string scalar_of_version(char name, char version) {
  const std::string metadata = std::string("\x0a\x0d\x0a\x07scalars\x12\x02\x08") + version;
  const std::string tensor("\x08\x01\x12\0\x2a\x04\0\0\x80\x3f", 10);
  return std::string("\x0a\x01") + name + "\x4a" + static_cast<char>(metadata.size()) + metadata + "\x42" +
         static_cast<char>(tensor.size()) + tensor;
}

TEST(a_format_of_the_future_is_not_listed_but_found) {
  Followed of;
  const auto values = summary_of({scalar_of_version('x', 0), scalar_of_version('y', 1)});
  of.append(record_of(2, 0, EventKind::summary, values));
  of.refresh();
  CHECK_EQ(of.names(), std::string("[\"x\"]"));
  CHECK(of.index.find("scalars", "y").has_value());
}

TEST(tags_vanish_with_their_file) {
  Followed of;
  of.append(scalar_record("old", 1, 2, 1));
  of.refresh();
  CHECK_EQ(of.names(), std::string("[\"old\"]"));
  fs::remove(of.folder.path() / "a.tfevents");
  append_to(of.folder.path() / "b.tfevents", version_record(5) + scalar_record("new", 1, 6, 1));
  of.refresh();
  CHECK_EQ(of.names(), std::string("[\"new\"]"));
  CHECK(!of.index.find("scalars", "old"));
}

TEST(a_few_tags_among_many) {
  Followed of;
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += scalar_record("tag" + std::to_string(i), 1, 2, 1);
  bytes += record_of(3, 0, EventKind::summary, summary_of({value_of("said", ValueKind::tensor, "", "text")}));
  of.append(bytes);
  of.refresh();
  CHECK_EQ(of.names("text", DataClass::tensor), std::string("[\"said\"]"));
  CHECK_EQ(of.index.with_points("scalars", DataClass::scalar).size(), 1000u);
  CHECK_EQ(of.index.size(), 1001u);
}

TEST(many_threads_ask_while_tags_come) {
  Followed of;
  std::vector<std::thread> asking;
  for (int thread = 0; thread < 3; ++thread) {
    asking.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        std::string json;
        of.index.append_names(json, "scalars", DataClass::scalar);
        of.index.find("scalars", "tag5");
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    of.append(scalar_record("tag" + std::to_string(i), 1, 2, 1));
    of.refresh();
  }
  for (auto& thread : asking) thread.join();
  CHECK_EQ(of.index.with_points("scalars", DataClass::scalar).size(), 50u);
}

}  // namespace
}  // namespace aboard::testing
