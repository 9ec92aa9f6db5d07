// SPDX-License-Identifier: Apache-2.0
// What one tag of one logdir has logged: one history across restarts and concurrent writers, and beside it what later
// attempts superseded.
//
// The rules, which say what is shown from what is in the files alone, however often and in which pieces these are read:
// - The first point of an attempt, at step s, supersedes points at >= s of earlier attempts. Of several files that
// write
//   at the same time each has a first point; the lowest counts.
// - A session that starts again at step s (SessionLog.START) supersedes points at >= s of earlier attempts, and those
//   that its own file had logged before. It says nothing about files that write at the same time.
// - Where one file has the points of an attempt, they stand in the order of that file; where several have, they are
//   merged by (step, wall time).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

namespace aboard {

// Points arrive from one thread, file by file: `open` says from which, `push` adds. What readers see changes only under
// their lock. Functions with a parameter `readers` take that lock themselves, when all sorting and copying is done: to
// swap in the result, or to change a few rows.
template <typename Rows>
class History {
 public:
  using Row = typename Rows::Row;

  History() = default;
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // For readers. The first `shown` of `rows` are shown.
  const Rows& rows() const noexcept { return rows_; }
  size_t shown() const noexcept { return shown_; }
  // Whether each step is above the one before: then what is shown can be drawn as it is.
  bool strictly_increasing() const noexcept { return shown_increasing_; }
  // Grows when points that were shown are gone or moved.
  uint64_t rewrites() const noexcept { return rewrites_; }
  // The first `superseded_shown` of `superseded` are shown.
  const Rows& superseded() const noexcept {
    static const Rows none;
    return shown_superseded_ != nullptr ? *shown_superseded_ : none;
  }
  size_t superseded_shown() const noexcept { return superseded_shown_; }

  // Of the last that is shown; zero when none is.
  int64_t last_step() const noexcept { return last_step_; }
  double last_wall_time() const noexcept { return last_wall_time_; }

  // Whether rows that lie in somebody else's memory are what they were. Must be asked before they are looked at, and
  // before anything is added; when they are not, all must be read again.
  bool is_sound() const noexcept { return rows_.is_sound() && (!aside_ || aside_->superseded.is_sound()); }

  // The next points are of `file` in `attempt`, the first of them at `step`. Attempts come in order.
  void open(uint32_t attempt, uint32_t file, int64_t step) {
    if (!begun_ || attempt != attempt_) {
      begun_ = true;
      attempt_ = attempt;
      attempt_begin_ = rows_.size();
      file_ = file;
      mixed_ = false;
      first_step_ = step;
      supersede_before(attempt_begin_, step);
      if (aside_) aside_->other_files.clear();
    } else if (mixed_ || file != file_) {
      mixed_ = true;
      open_beside(file, step);
    }
    target_ = mixed_ ? &aside_->arrived : &rows_;
  }

  // The session of `file` in `attempt` starts again at `step`. False when the file's points can no longer be told from
  // those of others: then all must be read again.
  bool restart(uint32_t attempt, uint32_t file, int64_t step) {
    if (!begun_) return true;
    if (attempt != attempt_ || (!mixed_ && file == file_)) {
      supersede_before(rows_.size(), step);
      return true;
    }
    supersede_before(attempt_begin_, step);
    if (!mixed_) return true;
    if (aside_->arrived_file == file) aside_->arrived_marks.push_back({aside_->arrived.size(), step});
    return file != file_ && !std::binary_search(aside_->other_files.begin(), aside_->other_files.end(), file);
  }

  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  bool full() const noexcept { return target_->full(); }
  bool has_room(size_t more) const noexcept { return target_->has_room(more); }
  size_t filled() const noexcept { return target_->size(); }
  // Makes room for one more at least, and for `wanted` in all where that is more.
  void grow(size_t wanted, std::mutex& readers) {
    if (target_ == &rows_ && shown_ > 0) {
      rows_.grow(wanted, readers);
    } else {
      target_->grow(wanted);  // readers look at no row of it
    }
  }
  void push(const Row& row) noexcept {
    if (target_ == &rows_ && first_fall_ == kNone && !rows_.empty() && row.step <= rows_.step(rows_.size() - 1)) {
      first_fall_ = rows_.size();
    }
    target_->push(row);
  }

  // Pushes all of `rows`, for which there must be room. `first_fall` is the first of them whose step is not above the
  // one before it, or kNone.
  void append(const Rows& rows, size_t first_fall) {
    if (target_ == &rows_ && first_fall_ == kNone && !rows.empty()) {
      if (!rows_.empty() && rows.step(0) <= rows_.step(rows_.size() - 1)) {
        first_fall_ = rows_.size();
      } else if (first_fall != kNone) {
        first_fall_ = rows_.size() + first_fall;
      }
    }
    target_->append(rows, 0, rows.size());
  }

  // Shows what was pushed. What concurrent files added waits for `merge`. Needs the readers' lock, and that
  // `supersede` was called.
  void show() noexcept {
    show(rows_.empty() ? 0 : rows_.step(rows_.size() - 1), rows_.empty() ? 0 : rows_.wall_time(rows_.size() - 1));
  }
  // Takes away the rows that later ones supersede. Where there are any, shows what was pushed too.
  void supersede(std::mutex& readers) {
    if (aside_ && !aside_->marks.empty()) apply_marks(readers);
  }
  void publish(std::mutex& readers) {
    supersede(readers);
    const std::lock_guard lock(readers);
    show();
  }
  bool must_merge() const noexcept { return mixed_ && aside_->arrived_files > 0; }
  // After `publish`, when all files have been read.
  void merge(std::mutex& readers);

  void settle(std::mutex& readers) {
    rows_.settle(readers);
    if (aside_) aside_->superseded.settle(readers);
  }

  // What is known beside the rows, when everything that came has been published and merged.
  struct Standing {
    uint64_t attempt_begin = 0;
    uint64_t first_fall = kNone;
    int64_t first_step = 0;
    uint32_t attempt = 0;
    uint32_t file = 0;
    bool begun = false;
    bool mixed = false;
    int64_t last_step = 0;  // of the rows
    double last_wall_time = 0;
    std::vector<uint32_t> other_files;
  };
  Standing standing() const {
    return {attempt_begin_,  first_fall_,
            first_step_,     attempt_,
            file_,           begun_,
            mixed_,          last_step_,
            last_wall_time_, aside_ ? aside_->other_files : std::vector<uint32_t>()};
  }
  // Goes on where another history stood. False, and nothing done, for what no history can be in.
  bool resume(const Standing& standing, Rows rows, Rows superseded);
  // Takes the same rows from somewhere else, when everything that came has been published and merged, and leaves its
  // own there. Needs the readers' lock.
  void swap_rows(Rows& rows, Rows& superseded) noexcept {
    std::swap(rows_, rows);
    if (aside_) std::swap(aside_->superseded, superseded);
  }

 private:
  // Rows in front of a position are superseded from a step on.
  struct Mark {
    size_t before;
    int64_t step;
  };
  // What most tags do not need.
  struct Aside {
    Rows superseded;
    std::vector<Mark> marks;  // on `rows_`, not yet applied
    // Of an attempt in which several files write: what came since the last merge.
    Rows arrived;
    Rows arrived_superseded;
    std::vector<Mark> arrived_marks;  // of the file that came last
    size_t arrived_begin = 0;         // of its rows
    uint32_t arrived_file = 0;
    size_t arrived_files = 0;
    std::vector<uint32_t> new_files;    // first seen in `arrived`
    std::vector<uint32_t> other_files;  // merged before, beside `file_`; ascending
  };

  Aside& aside() {
    if (!aside_) aside_ = std::make_unique<Aside>();
    return *aside_;
  }

  static double time_of(const Rows& rows, size_t at) noexcept {
    const double time = rows.wall_time(at);
    return std::isnan(time) ? -std::numeric_limits<double>::infinity() : time;  // to have an order at all
  }
  static Rows with_room_for(size_t count) {
    Rows rows;
    if (count > 0) rows.grow(count);
    return rows;
  }
  static bool earlier(const Rows& a, size_t i, const Rows& b, size_t j) noexcept {
    return a.step(i) != b.step(j) ? a.step(i) < b.step(j) : time_of(a, i) < time_of(b, j);
  }

  void open_beside(uint32_t file, int64_t step) {
    Aside& side = aside();
    if (side.arrived_files == 0 || side.arrived_file != file) {
      apply_arrived_marks();
      side.arrived_file = file;
      side.arrived_begin = side.arrived.size();
      ++side.arrived_files;
    }
    const bool known = file == file_ || std::binary_search(side.other_files.begin(), side.other_files.end(), file) ||
                       (!side.new_files.empty() && side.new_files.back() == file);
    if (known) return;
    side.new_files.push_back(file);
    if (step < first_step_) {
      first_step_ = step;
      supersede_before(attempt_begin_, step);
    }
  }

  void supersede_before(size_t position, int64_t step) {
    if (position == 0) return;
    if (first_fall_ == kNone && rows_.step(position - 1) < step) return;
    aside().marks.push_back({position, step});
  }

  void show(int64_t last_step, double last_wall_time) noexcept {
    shown_ = rows_.size();
    shown_increasing_ = first_fall_ == kNone;
    last_step_ = last_step;
    last_wall_time_ = last_wall_time;
    if (aside_) {
      shown_superseded_ = &aside_->superseded;
      superseded_shown_ = aside_->superseded.size();
    }
  }

  void apply_marks(std::mutex& readers);
  void apply_arrived_marks();
  void add_superseded(const Rows& gone, std::mutex& readers);
  void replace_from(size_t from, const Rows& rest, std::mutex& readers);
  void find_first_fall(const Rows& rows, size_t from);
  size_t first_behind(const Rows& arrived) const;
  static size_t first_out_of_order(const Rows& rows, size_t begin);
  static std::vector<bool> superseded_rows(const Rows& rows, size_t begin, size_t increasing_to,
                                           std::vector<Mark>& marks, size_t& lowest);
  static void sort(Rows& rows);

  Rows rows_;
  size_t shown_ = 0;
  size_t superseded_shown_ = 0;
  int64_t last_step_ = 0;
  double last_wall_time_ = 0;
  uint64_t rewrites_ = 0;
  size_t attempt_begin_ = 0;
  size_t first_fall_ = kNone;  // the first row whose step is not above the one before
  int64_t first_step_ = 0;     // lowest of the first steps of the attempt's files
  uint32_t attempt_ = 0;
  uint32_t file_ = 0;  // of the attempt, the first that has points here
  bool begun_ = false;
  bool mixed_ = false;  // other files of the attempt have points here too
  bool shown_increasing_ = true;
  const Rows* shown_superseded_ = nullptr;  // `aside_` itself comes to be without the readers' lock
  Rows* target_ = &rows_;
  std::unique_ptr<Aside> aside_;
};

template <typename Rows>
bool History<Rows>::resume(const Standing& standing, Rows rows, Rows superseded) {
  const bool fits = standing.attempt_begin <= rows.size() &&
                    (standing.first_fall == kNone || standing.first_fall < rows.size()) &&
                    std::is_sorted(standing.other_files.begin(), standing.other_files.end());
  if (!fits) return false;
  rows_ = std::move(rows);
  attempt_begin_ = static_cast<size_t>(standing.attempt_begin);
  first_fall_ = static_cast<size_t>(standing.first_fall);
  first_step_ = standing.first_step;
  attempt_ = standing.attempt;
  file_ = standing.file;
  begun_ = standing.begun;
  mixed_ = standing.mixed;
  if (mixed_ || !superseded.empty()) {
    aside().superseded = std::move(superseded);
    aside().other_files = standing.other_files;
  }
  show(standing.last_step, standing.last_wall_time);
  return true;
}

// Which rows from `begin` on the marks supersede, as flags from `lowest` on. Rows below `increasing_to` ascend.
template <typename Rows>
std::vector<bool> History<Rows>::superseded_rows(const Rows& rows, size_t begin, size_t increasing_to,
                                                 std::vector<Mark>& marks, size_t& lowest) {
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.before < b.before; });
  // From the end, so that each row meets the lowest of all marks behind it, and each is looked at once.
  std::vector<size_t> found;
  int64_t cut = 0;
  size_t at = marks.back().before;
  for (size_t mark = marks.size(); mark > 0;) {
    cut = mark == marks.size() ? marks[mark - 1].step : std::min(cut, marks[mark - 1].step);
    at = std::min(at, marks[mark - 1].before);
    --mark;
    const size_t stop = mark > 0 ? std::max(marks[mark - 1].before, begin) : begin;
    for (; at > stop; --at) {
      if (rows.step(at - 1) >= cut) {
        found.push_back(at - 1);
      } else if (at <= increasing_to) {
        break;
      }
    }
  }
  lowest = found.empty() ? rows.size() : found.back();
  std::vector<bool> flags(rows.size() - lowest);
  for (const size_t position : found) flags[position - lowest] = true;
  return flags;
}

template <typename Rows>
void History<Rows>::apply_marks(std::mutex& readers) {
  Aside& side = *aside_;
  size_t lowest;
  const auto flags = superseded_rows(rows_, 0, first_fall_ == kNone ? rows_.size() : first_fall_, side.marks, lowest);
  side.marks.clear();
  if (flags.empty()) return;
  const auto superseded = static_cast<size_t>(std::count(flags.begin(), flags.end(), true));
  Rows rest = with_room_for(flags.size() - superseded), gone = with_room_for(superseded);
  size_t begin = attempt_begin_;
  for (size_t at = lowest; at < rows_.size(); ++at) {
    if (flags[at - lowest]) {
      gone.append(rows_.row(at));
      if (at < attempt_begin_) --begin;
    } else {
      rest.append(rows_.row(at));
    }
  }
  attempt_begin_ = begin;
  add_superseded(gone, readers);
  replace_from(lowest, rest, readers);
}

// Behind those that are shown: the next `show` shows them.
template <typename Rows>
void History<Rows>::add_superseded(const Rows& gone, std::mutex& readers) {
  Rows& all = aside_->superseded;
  if (!all.has_room(gone.size())) {
    const size_t wanted = all.size() + gone.size();
    if (superseded_shown_ > 0) {
      all.grow(wanted, readers);
    } else {
      all.grow(wanted);
    }
  }
  all.append(gone, 0, gone.size());
}

// Puts `rest` in the place of all rows from `from` on, and shows what is there then.
template <typename Rows>
void History<Rows>::replace_from(size_t from, const Rows& rest, std::mutex& readers) {
  const size_t size = from + rest.size();
  if (from == rows_.size()) {
    if (!rows_.has_room(rest.size())) {
      if (shown_ > 0) {
        rows_.grow(size, readers);
      } else {
        rows_.grow(size);
      }
    }
    rows_.append(rest, 0, rest.size());
    find_first_fall(rows_, from);
    const std::lock_guard lock(readers);
    return show();
  }
  if (rows_.size() - from <= Rows::kFew && rest.size() <= Rows::kFew && size <= rows_.capacity()) {
    const std::lock_guard lock(readers);
    if (rows_.is_exclusive()) {
      rows_.truncate(from);
      rows_.append(rest, 0, rest.size());
      ++rewrites_;
      find_first_fall(rows_, from);
      return show();
    }
  }
  Rows replaced = rows_.copy(from, std::max(size, std::min(rows_.capacity(), size + size / 2)));
  replaced.append(rest, 0, rest.size());
  find_first_fall(replaced, from);
  const std::lock_guard lock(readers);
  std::swap(rows_, replaced);
  ++rewrites_;
  show();
}

template <typename Rows>
void History<Rows>::apply_arrived_marks() {
  Aside& side = *aside_;
  if (side.arrived_marks.empty()) return;
  size_t lowest;
  const auto flags = superseded_rows(side.arrived, side.arrived_begin, 0, side.arrived_marks, lowest);
  side.arrived_marks.clear();
  Rows rest;
  for (size_t at = lowest; at < side.arrived.size(); ++at) {
    (flags[at - lowest] ? side.arrived_superseded : rest).append(side.arrived.row(at));
  }
  side.arrived.truncate(lowest);
  side.arrived.append(rest, 0, rest.size());
}

template <typename Rows>
void History<Rows>::find_first_fall(const Rows& rows, size_t from) {
  if (first_fall_ < from) return;
  first_fall_ = kNone;
  for (size_t at = std::max<size_t>(from, 1); at < rows.size(); ++at) {
    if (rows.step(at) > rows.step(at - 1)) continue;
    first_fall_ = at;
    return;
  }
}

template <typename Rows>
size_t History<Rows>::first_out_of_order(const Rows& rows, size_t begin) {
  size_t at = begin + 1;
  while (at < rows.size() && !earlier(rows, at, rows, at - 1)) ++at;
  return std::min(at, rows.size());
}

template <typename Rows>
void History<Rows>::sort(Rows& rows) {
  if (first_out_of_order(rows, 0) == rows.size()) return;
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return earlier(rows, a, rows, b); });
  Rows ordered = with_room_for(rows.size());
  for (const size_t at : order) ordered.append(rows.row(at));
  rows = std::move(ordered);
}

// The first row of the attempt, whose rows are in order, that stands behind the first of `arrived`.
template <typename Rows>
size_t History<Rows>::first_behind(const Rows& arrived) const {
  size_t high = rows_.size();
  if (arrived.empty() || high == attempt_begin_ || !earlier(arrived, 0, rows_, high - 1)) return high;
  size_t low = attempt_begin_;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (earlier(arrived, 0, rows_, middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

template <typename Rows>
void History<Rows>::merge(std::mutex& readers) {
  Aside& side = *aside_;
  apply_arrived_marks();
  add_superseded(side.arrived_superseded, readers);
  side.arrived_superseded = {};
  Rows arrived = std::exchange(side.arrived, {});
  sort(arrived);
  // Until a second file came, one file had it all, in its own order.
  const bool in_order = !side.other_files.empty() || first_out_of_order(rows_, attempt_begin_) == rows_.size();
  side.other_files.insert(side.other_files.end(), side.new_files.begin(), side.new_files.end());
  std::sort(side.other_files.begin(), side.other_files.end());
  side.new_files.clear();
  side.arrived_files = side.arrived_begin = 0;

  const size_t from = in_order ? first_behind(arrived) : attempt_begin_;
  Rows behind;
  behind.append(rows_, from, rows_.size());
  if (!in_order) sort(behind);
  Rows merged = with_room_for(behind.size() + arrived.size());
  size_t i = 0, j = 0;
  while (i < behind.size() || j < arrived.size()) {
    if (j == arrived.size() || (i < behind.size() && !earlier(arrived, j, behind, i))) {
      merged.append(behind.row(i++));
    } else {
      merged.append(arrived.row(j++));
    }
  }
  replace_from(from, merged, readers);
  supersede(readers);
}

}  // namespace aboard
