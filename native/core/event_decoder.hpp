// SPDX-License-Identifier: Apache-2.0
// Takes the events of one file into the histories of a logdir's tags.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "event.hpp"
#include "logdir_state.hpp"

namespace aboard {

class Logdir::Decoder {
 public:
  Decoder(Logdir& logdir, State& state, size_t file);

  // False when the payload is no event.
  bool take(std::string_view payload, uint64_t offset);
  // Shows readers what was decoded.
  void publish();
  // After the last record.
  void finish();

 private:
  // A SessionLog.START, unless a later one began at a lower step.
  struct Restart {
    uint64_t ticket;
    int64_t step;
  };

  void note_time(double wall_time) noexcept;
  void take_summary(std::string_view summary);
  void take_value(const ValueView& value);
  void take_restart(int64_t step);
  void add_scalar(Tag& tag, double value);
  void add_media(Tag& tag);
  template <typename Rows>
  void add(Tag& tag, History<Rows>& history, const typename Rows::Row& row);
  template <typename Rows>
  void prepare(Tag& tag, History<Rows>& history, int64_t step);
  template <typename Rows>
  void catch_up(Tag& tag, History<Rows>& history);
  void put_in_batch(Tag& tag);

  Tag& tag_for(TagSource source, std::string_view name, const ValueView* first_value = nullptr);
  uint32_t number_of(TagSource source, std::string_view name, const ValueView* first_value);

  Logdir& logdir_;
  State& state_;
  File& file_;
  uint64_t ticket_;
  Tag* last_ = nullptr;
  MediaEntry entry_{};
  std::vector<Tag*> batch_;
  std::vector<Restart> restarts_;  // tickets and steps ascend: the first behind a ticket is the lowest behind it
};

}  // namespace aboard
