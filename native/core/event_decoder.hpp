// SPDX-License-Identifier: Apache-2.0
// Takes the events of one file into the histories of a logdir's tags.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "decoded_part.hpp"
#include "event.hpp"
#include "logdir_state.hpp"

namespace aboard {

class Logdir::Decoder final : public RecordTaker {
 public:
  Decoder(Logdir& logdir, State& state, size_t file);

  bool take(std::string_view payload, uint64_t offset) override;
  void take_plain(std::span<const PlainRecord> records, uint64_t offset) override;
  // The same as all records of the part, which another thread has decoded. False, and nothing done, when they have to
  // be taken one by one.
  bool take_part(const DecodedPart& part);
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

  void take_plain(const PlainRecord& record, uint64_t offset);
  void count_records(uint64_t records);
  void note_time(double wall_time) noexcept;
  void take_summary(std::string_view summary);
  void take_value(const ValueView& value);
  bool is_of_other_kind(Tag& tag, const ValueView& value);
  void take_restart(int64_t step);
  void add_scalar(Tag& tag, double value);
  void add_media(Tag& tag);
  template <typename Rows>
  void add(Tag& tag, History<Rows>& history, const typename Rows::Row& row);
  // False when nothing can be added: all must be read again.
  template <typename Rows>
  bool prepare(Tag& tag, History<Rows>& history, int64_t step);
  template <typename Rows>
  void make_room(History<Rows>& history, size_t more);
  template <typename Rows>
  void catch_up(Tag& tag, History<Rows>& history);
  void put_in_batch(Tag& tag);

  Tag& tag_for(TagSource source, std::string_view name, const ValueView* first_value = nullptr);
  uint32_t number_of(TagSource source, std::string_view name, const ValueView* first_value);
  uint32_t find(TagSource source, std::string_view name, uint64_t hash) const;

  Logdir& logdir_;
  State& state_;
  File& file_;
  uint64_t ticket_;
  Tag* last_ = nullptr;
  // Of a file that is read for the first time: what its first part, and the files before it, tell of the rest.
  const bool foresees_;
  uint64_t read_before_ = 0;  // bytes of these files
  uint64_t reached_ = 0;      // where in the file decoding is
  uint64_t spare_rows_ = 0;   // that may be made room for before they are seen
  MediaEntry entry_{};
  std::vector<Tag*> batch_;
  std::vector<Restart> restarts_;  // tickets and steps ascend: the first behind a ticket is the lowest behind it
};

}  // namespace aboard
