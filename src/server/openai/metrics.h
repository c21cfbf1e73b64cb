#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "engine/scheduler.h"
#include "server/http/http_server.h"

namespace lattice::server {

/// Counts of durations at or below fixed bounds, as Prometheus has them.
class Histogram {
 public:
  static constexpr std::array<double, 14> kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                     0.25,  0.5,    1,     2.5,  5,     10,   60};
  void Add(double seconds);
  void Print(std::string_view name, std::string_view help, std::string& out) const;

 private:
  std::array<std::uint64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

/// What the server counts. Thread-safe. Nothing that clients wrote becomes a name or a label.
class Metrics {
 public:
  void ObserveRequest(const RequestRecord& record);
  void ObserveGeneration(const engine::GenerationEnd& end);
  void ObserveEmbedding(std::size_t n_texts, std::size_t n_tokens, double seconds);
  void ObserveRerank(std::size_t n_texts, std::size_t n_tokens, double seconds);

  struct Model {
    std::string id;
    bool loaded = false;
    std::uint64_t n_loads = 0;
    std::optional<engine::SchedulerMetrics> engine;  ///< Of generators.
  };
  /// The text format of Prometheus, version 0.0.4.
  std::string Print(std::span<const Model> models) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::tuple<std::string, std::string, int>, std::uint64_t> requests_;
  std::map<std::string, std::uint64_t> finishes_;
  /// Names of other servers for the same figures: docs/server.md lists them.
  void PrintAliases(std::span<const Model> models, std::string& out) const;

  struct TextFigures {
    std::uint64_t n_texts = 0, n_tokens = 0, n_requests = 0;
    Histogram seconds;
    void Add(std::size_t texts, std::size_t tokens, double seconds_taken);
  };
  Histogram request_seconds_, first_token_seconds_, token_seconds_, waiting_seconds_,
      answer_seconds_;
  TextFigures embedded_, reranked_;
};

}  // namespace lattice::server
