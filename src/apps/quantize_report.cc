#include "apps/quantize_report.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <map>
#include <vector>

#include "apps/progress_bar.h"
#include "apps/weight_types.h"

namespace lattice::apps {
namespace {

using weights::TensorJob;

std::size_t BytesOf(const TensorJob& job) { return StorageBytes(job.spec.dtype, job.n_elements()); }

std::string ShapeColumn(const std::vector<std::size_t>& shape) {
  std::string text;
  for (const std::size_t n : shape) text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text.empty() ? "1" : text;
}

std::string Totals(const QuantizeReport& report) {
  const std::size_t from = report.source_bytes(), to = report.plan->tensor_bytes();
  char percent[32];
  std::snprintf(percent, sizeof percent, "%.1f %%",
                from == 0 ? 100.0 : 100 * static_cast<double>(to) / static_cast<double>(from));
  return std::to_string(report.plan->jobs.size()) + " tensors: " + ByteText(from) + " -> " +
         ByteText(to) + " (" + percent + ")\n";
}

std::string FellBackText(const QuantizeReport& report) {
  const std::size_t n = report.notes->fell_back.size();
  if (n == 0) return "";
  return std::to_string(n) + (n == 1 ? " tensor has" : " tensors have") +
         " rows that are not whole blocks of the type they should get, and another one" +
         " instead (marked *)\n";
}

/// Tensors by type, the type of most bytes first.
std::string TypesText(const QuantizeReport& report) {
  struct Share {
    std::size_t tensors = 0, bytes = 0;
  };
  std::map<Dtype, Share> shares;
  for (const TensorJob& job : report.plan->jobs) {
    Share& share = shares[job.spec.dtype];
    ++share.tensors;
    share.bytes += BytesOf(job);
  }
  std::vector<std::pair<Dtype, Share>> sorted(shares.begin(), shares.end());
  std::ranges::sort(sorted, std::ranges::greater(),
                    [](const auto& one) { return one.second.bytes; });
  std::string text;
  for (const auto& [dtype, share] : sorted) {
    text += "  " + TypeText(dtype) + "  " + std::to_string(share.tensors) +
            (share.tensors == 1 ? " tensor, " : " tensors, ") + ByteText(share.bytes) + "\n";
  }
  return text;
}

}  // namespace

std::size_t QuantizeReport::source_bytes() const {
  std::size_t bytes = 0;
  for (const TensorJob& job : plan->jobs) bytes += job.source_bytes();
  return bytes;
}

std::string TensorTable(const QuantizeReport& report) {
  std::size_t names = 0, shapes = 0;
  for (const TensorJob& job : report.plan->jobs) {
    names = std::max(names, job.spec.name.size());
    shapes = std::max(shapes, ShapeColumn(job.spec.shape).size());
  }
  std::vector<bool> fell_back(report.plan->jobs.size());
  for (const std::size_t i : report.notes->fell_back) fell_back[i] = true;
  std::string text;
  for (std::size_t i = 0; i < report.plan->jobs.size(); ++i) {
    const TensorJob& job = report.plan->jobs[i];
    const std::string shape = ShapeColumn(job.spec.shape);
    char types[96];
    std::snprintf(types, sizeof types, "  %7s %10s -> %7s%s %9s\n",
                  TypeText(job.source.dtype).c_str(), ByteText(job.source_bytes()).c_str(),
                  TypeText(job.spec.dtype).c_str(), fell_back[i] ? "*" : " ",
                  ByteText(BytesOf(job)).c_str());
    text += job.spec.name + std::string(names - job.spec.name.size() + 2, ' ') +
            std::string(shapes - shape.size(), ' ') + shape + types;
  }
  return text + Totals(report) + FellBackText(report);
}

std::string SummaryText(const QuantizeReport& report) {
  const double seconds = std::max(report.seconds.value_or(0), 1e-9);
  const auto rate = [&](std::size_t bytes) {
    return ByteText(static_cast<std::size_t>(static_cast<double>(bytes) / seconds)) + "/s";
  };
  char time[32];
  std::snprintf(time, sizeof time, "%.2f s", seconds);
  return report.destination.string() + "\n" + TypesText(report) + Totals(report) + time +
         ": read at " + rate(report.source_bytes()) + ", written at " +
         rate(report.plan->tensor_bytes()) + "\n";
}

std::string QuantizeJson(const QuantizeReport& report) {
  boost::json::array tensors;
  for (const TensorJob& job : report.plan->jobs) {
    tensors.push_back(boost::json::object{{"name", job.spec.name},
                                          {"shape", boost::json::value_from(job.spec.shape)},
                                          {"from", TypeText(job.source.dtype)},
                                          {"to", TypeText(job.spec.dtype)},
                                          {"source_bytes", job.source_bytes()},
                                          {"bytes", BytesOf(job)},
                                          {"fell_back", false}});
  }
  for (const std::size_t i : report.notes->fell_back) tensors[i].as_object()["fell_back"] = true;
  boost::json::object json{{"source", report.source.string()},
                           {"destination", report.destination.string()},
                           {"type", report.type},
                           {"written", report.seconds.has_value()},
                           {"source_bytes", report.source_bytes()},
                           {"bytes", report.plan->tensor_bytes()},
                           {"requantised", report.notes->requantised.size()}};
  if (report.seconds) json["seconds"] = *report.seconds;
  json["tensors"] = std::move(tensors);
  return boost::json::serialize(json) + "\n";
}

}  // namespace lattice::apps
