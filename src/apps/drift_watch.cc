#include "apps/drift_watch.h"

#include <cstdio>
#include <string>
#include <vector>

#include "apps/json_text.h"
#include "apps/vector_input.h"
#include "base/files.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kMostLineBytes = std::size_t{16} << 20;

// A line of standard input, without its end, as soon as it is there; false at the end.
Result<bool> ReadLine(std::string& line) {
  line.clear();
  int c = 0;
  while ((c = std::getc(stdin)) != EOF && c != '\n') {
    if (line.size() == kMostLineBytes) {
      return Error{ErrorCode::kResourceExhausted, "standard input: a line above 16 MiB"};
    }
    line += static_cast<char>(c);
  }
  if (std::ferror(stdin) != 0) {
    return Error{ErrorCode::kInvalidArgument, "cannot read standard input"};
  }
  return c == '\n' || !line.empty();
}

Status Save(const transport::DriftDetector& detector, const std::string& file) {
  if (file.empty()) return Ok();
  const std::vector<std::byte> bytes = detector.Save();
  return WriteFileAtomically(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string JsonOf(const transport::DriftReading& reading, std::size_t window) {
  return JsonObject()
             .Count("first", reading.first)
             .Count("last", reading.first + window - 1)
             .Number("divergence", reading.divergence)
             .Number("threshold", reading.threshold)
             .Number("p_value", reading.p_value)
             .Flag("drifted", reading.drifted)
             .Flag("converged", reading.converged)
             .Take() +
         "\n";
}

std::string LineOf(const transport::DriftReading& reading, std::size_t window) {
  std::string out = "records " + std::to_string(reading.first) + "-" +
                    std::to_string(reading.first + window - 1) + "  divergence ";
  AppendJson(static_cast<float>(reading.divergence), out);
  out += "  threshold ";
  AppendJson(static_cast<float>(reading.threshold), out);
  out += "  p ";
  AppendJson(static_cast<float>(reading.p_value), out);
  if (reading.drifted) out += "  DRIFT";
  return out + (reading.converged ? "\n" : "  (not converged)\n");
}

}  // namespace

Status WatchStream(transport::DriftDetector& detector, const std::string& state_file, bool json,
                   const AppContext& context) {
  std::string line;
  for (std::size_t n = 1; !context.stop.stop_requested(); ++n) {
    LATTICE_TRY(const bool has_line, ReadLine(line));
    if (!has_line) break;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    LATTICE_TRY(const auto record,
                ParseVectorLine(line, "standard input line " + std::to_string(n)));
    LATTICE_TRY(const auto reading, detector.Add(record));
    if (!reading) continue;
    const std::size_t window = detector.window();
    LATTICE_TRY_VOID(Print(json ? JsonOf(*reading, window) : LineOf(*reading, window)));
    LATTICE_TRY_VOID(Save(detector, state_file));
  }
  return Save(detector, state_file);
}

}  // namespace lattice::apps
