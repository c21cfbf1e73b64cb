#include "apps/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

namespace lattice::apps {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBarCells = 24;
constexpr auto kRedrawEvery = std::chrono::milliseconds(100);

class ProgressBar {
 public:
  explicit ProgressBar(ProgressUnit unit) : unit_(unit), terminal_(isatty(STDERR_FILENO) == 1) {}

  void Show(std::string_view what, std::size_t done, std::size_t total) {
    if (what != what_) Start(what, done);
    const bool finished = total != 0 && done >= total;
    if (finished_) return;
    finished_ = finished;
    if (terminal_) {
      Redraw(done, total);
    } else {
      PrintTenths(done, total);
    }
  }

 private:
  void Start(std::string_view what, std::size_t done) {
    what_ = what;
    start_ = Clock::now();
    redrawn_ = {};
    first_done_ = done;
    next_tenth_ = 0;
    finished_ = false;
  }

  std::string Amount(std::size_t n) const {
    return unit_ == ProgressUnit::kBytes ? ByteText(n) : std::to_string(n);
  }

  std::string Rate(std::size_t done) const {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    if (seconds < 0.2 || done <= first_done_) return "";
    const double rate = static_cast<double>(done - first_done_) / seconds;
    return "  " + Amount(static_cast<std::size_t>(rate)) + "/s";
  }

  void Redraw(std::size_t done, std::size_t total) {
    if (!finished_ && Clock::now() - redrawn_ < kRedrawEvery) return;
    redrawn_ = Clock::now();
    std::string line = "\r\x1b[K" + what_ + "  ";
    if (total != 0) {
      const std::size_t cells = std::min(kBarCells, kBarCells * done / total);
      line += "[" + std::string(cells, '#') + std::string(kBarCells - cells, ' ') + "]  ";
    }
    line += Amount(done) + (total != 0 ? " of " + Amount(total) : "") + Rate(done);
    if (finished_) line += "\n";
    std::fputs(line.c_str(), stderr);
  }

  void PrintTenths(std::size_t done, std::size_t total) {
    if (total == 0) return;
    const std::size_t tenth = std::min<std::size_t>(10, 10 * done / total);
    if (tenth < next_tenth_) return;
    next_tenth_ = tenth + 1;
    std::fprintf(stderr, "%s: %zu%% of %s\n", what_.c_str(), tenth * 10, Amount(total).c_str());
  }

  ProgressUnit unit_;
  bool terminal_;
  std::string what_;
  Clock::time_point start_, redrawn_;
  std::size_t first_done_ = 0;
  std::size_t next_tenth_ = 0;
  bool finished_ = false;
};

}  // namespace

ProgressSink MakeProgressSink(ProgressUnit unit) {
  return [bar = std::make_shared<ProgressBar>(unit)](std::string_view what, std::size_t done,
                                                     std::size_t total) {
    bar->Show(what, done, total);
  };
}

std::string ByteText(std::uint64_t n_bytes) {
  constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB"};
  if (n_bytes < 1000) return std::to_string(n_bytes) + " B";
  double value = static_cast<double>(n_bytes) / 1000;
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, kUnits[unit]);
  return text;
}

}  // namespace lattice::apps
