#include "apps/drift_watch.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "apps/drift_input.h"
#include "apps/json_text.h"
#include "base/files.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kMostLineBytes = std::size_t{16} << 20;

// A line of standard input as soon as it is there; false at the end.
Result<bool> ReadLine(std::string& line) {
  line.clear();
  char piece[4096];
  while (std::fgets(piece, sizeof(piece), stdin) != nullptr) {
    line += piece;
    if (line.ends_with('\n')) return true;
    if (line.size() > kMostLineBytes) {
      return Error{ErrorCode::kResourceExhausted, "standard input: a line above 16 MiB"};
    }
  }
  if (std::ferror(stdin) != 0) {
    return Error{ErrorCode::kInvalidArgument, "cannot read standard input"};
  }
  return !line.empty();
}

Status Save(const transport::DriftDetector& detector, const std::string& file) {
  if (file.empty()) return Ok();
  const std::vector<std::byte> bytes = detector.Save();
  return WriteFileAtomically(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string LineOf(const transport::DriftReading& reading, std::size_t window, bool json) {
  std::string out;
  const auto number = [&](std::string_view json_name, std::string_view name, double value) {
    out += json ? json_name : name;
    AppendJson(static_cast<float>(value), out);
  };
  const std::string first = std::to_string(reading.first);
  const std::string last = std::to_string(reading.first + window - 1);
  out = json ? "{\"first\":" + first + ",\"last\":" + last : "records " + first + "-" + last;
  number(",\"divergence\":", "  divergence ", reading.divergence);
  number(",\"threshold\":", "  threshold ", reading.threshold);
  number(",\"p_value\":", "  p ", reading.p_value);
  if (json) {
    out += std::string(",\"drifted\":") + (reading.drifted ? "true" : "false") +
           ",\"converged\":" + (reading.converged ? "true" : "false") + "}\n";
  } else {
    out += std::string(reading.drifted ? "  DRIFT" : "") +
           (reading.converged ? "\n" : "  (not converged)\n");
  }
  return out;
}

}  // namespace

Status WatchStream(transport::DriftDetector& detector, const std::string& state_file, bool json,
                   const AppContext& context) {
  std::string line;
  for (std::size_t n = 1; !context.stop.stop_requested(); ++n) {
    LATTICE_TRY(const bool has_line, ReadLine(line));
    if (!has_line) break;
    if (line == "\n") continue;
    LATTICE_TRY(const auto record,
                ParseVectorLine(line, "standard input line " + std::to_string(n)));
    LATTICE_TRY(const auto reading, detector.Add(record));
    if (!reading) continue;
    LATTICE_TRY_VOID(Print(LineOf(*reading, detector.window(), json)));
    LATTICE_TRY_VOID(Save(detector, state_file));
  }
  return Save(detector, state_file);
}

}  // namespace lattice::apps
