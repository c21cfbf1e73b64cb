#include "vectors/csv.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

namespace lattice::vectors {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF", kAround = " \t\r\"";

std::string_view Trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(kAround);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kAround) - begin + 1);
}

std::optional<float> Number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  float value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || stop != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

// Takes what stands before the mark off `text`; all of it where there is none.
std::string_view TakeUntil(char mark, std::string_view& text) {
  const auto end = text.find(mark);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return part;
}

Error Bad(std::size_t line, std::string what) {
  return {ErrorCode::kCorruptData, "line " + std::to_string(line) + ": " + std::move(what)};
}

// A number that is not one, as 1;2 or 1e99, rather than a name.
bool BeginsAsNumber(std::string_view text) {
  return !text.empty() &&
         std::string_view("0123456789+-.").find(text.front()) != std::string_view::npos;
}

struct Line {
  std::size_t n_cells = 0, first_other = 0;  // first_other: 1-based
  bool only_names = true;
};

// Appends the numbers of a line, and zero for what is none.
Line ReadLine(std::string_view line, std::vector<float>& values) {
  Line read;
  bool more = true;
  while (more) {
    more = line.find(',') != line.npos;
    const std::string_view cell = Trimmed(TakeUntil(',', line));
    const auto value = Number(cell);
    ++read.n_cells;
    if (!value && read.first_other == 0) read.first_other = read.n_cells;
    if (value || BeginsAsNumber(cell)) read.only_names = false;
    values.push_back(value.value_or(0.0f));
  }
  return read;
}

std::vector<std::string> Names(std::string_view line, std::size_t n) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < n; ++i) names.emplace_back(Trimmed(TakeUntil(',', line)));
  return names;
}

}  // namespace

Result<CsvMatrix> ParseCsv(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  CsvMatrix out;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = TakeUntil('\n', text);
    if (Trimmed(line).empty()) continue;
    const std::size_t before = out.values.size();
    const Line read = ReadLine(line, out.values);
    if (out.dims == 0 && read.only_names) {
      out.values.resize(before);
      out.names = Names(line, read.n_cells);
    } else if (out.dims != 0 && read.n_cells != out.dims) {
      return Bad(number,
                 std::to_string(read.n_cells) + " columns instead of " + std::to_string(out.dims));
    } else if (read.first_other != 0) {
      return Bad(number, "column " + std::to_string(read.first_other) + ": not a finite number");
    } else {
      ++out.n_rows;
    }
    out.dims = read.n_cells;
  }
  if (out.n_rows == 0) return Error{ErrorCode::kCorruptData, "no rows of numbers"};
  return out;
}

}  // namespace lattice::vectors
