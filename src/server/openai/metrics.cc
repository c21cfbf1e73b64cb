#include "server/openai/metrics.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace lattice::server {
namespace {

std::string Number(double value) {
  char digits[40];
  return {digits, std::to_chars(digits, digits + sizeof(digits), value).ptr};
}

std::string Escaped(std::string_view label) {
  std::string out;
  for (const char c : label) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

void Head(std::string_view name, std::string_view kind, std::string_view help, std::string& out) {
  out.append("# HELP ").append(name).append(" ").append(help);
  out.append("\n# TYPE ").append(name).append(" ").append(kind).append("\n");
}

void Line(std::string_view name, std::string_view labels, const std::string& value,
          std::string& out) {
  out += name;
  if (!labels.empty()) out.append("{").append(labels).append("}");
  out.append(" ").append(value).append("\n");
}

/// One figure of every model's engine.
struct EngineFigure {
  const char* name;
  const char* kind;
  const char* help;
  double (*value)(const engine::SchedulerMetrics&);
};

template <auto Member>
double Value(const engine::SchedulerMetrics& metrics) {
  return static_cast<double>(metrics.*Member);
}

using Engine = engine::SchedulerMetrics;
constexpr EngineFigure kEngineFigures[] = {
    {"lattice_requests_waiting", "gauge", "Generations that wait for a place",
     Value<&Engine::n_waiting>},
    {"lattice_requests_reading", "gauge", "Generations whose prompt is being read",
     Value<&Engine::n_reading>},
    {"lattice_requests_answering", "gauge", "Generations whose answer is being made",
     Value<&Engine::n_answering>},
    {"lattice_kv_bytes", "gauge", "Memory for keys, values and states",
     Value<&Engine::memory_bytes>},
    {"lattice_kv_used_bytes", "gauge", "Of it, in use", Value<&Engine::used_bytes>},
    {"lattice_kv_cached_bytes", "gauge", "Of it, kept for prompts to come",
     Value<&Engine::cached_bytes>},
    {"lattice_generations_refused_total", "counter", "Generations that were not accepted",
     Value<&Engine::n_refused>},
    {"lattice_generations_put_off_total", "counter", "Times a generation gave up its memory",
     Value<&Engine::n_put_off>},
    {"lattice_cache_hits_total", "counter", "Prompts of which a beginning had been read",
     Value<&Engine::n_cache_hits>},
    {"lattice_prompt_tokens_total", "counter", "Tokens of prompts", Value<&Engine::prompt_tokens>},
    {"lattice_cached_tokens_total", "counter", "Of them, read before",
     Value<&Engine::cached_tokens>},
    {"lattice_generated_tokens_total", "counter", "Tokens of answers",
     Value<&Engine::generated_tokens>},
    {"lattice_steps_total", "counter", "Forward passes", Value<&Engine::n_steps>}};

}  // namespace

void Histogram::Add(double seconds) {
  const auto bound = std::ranges::lower_bound(kBounds, seconds);
  ++counts_[static_cast<std::size_t>(bound - kBounds.begin())];
  sum_ += seconds;
}

void Histogram::Print(std::string_view name, std::string_view help, std::string& out) const {
  Head(name, "histogram", help, out);
  const std::string bucket = std::string(name) + "_bucket";
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    n += counts_[i];
    const std::string bound = i < kBounds.size() ? Number(kBounds[i]) : "+Inf";
    Line(bucket, "le=\"" + bound + "\"", std::to_string(n), out);
  }
  Line(std::string(name) + "_sum", "", Number(sum_), out);
  Line(std::string(name) + "_count", "", std::to_string(n), out);
}

void Metrics::ObserveRequest(const RequestRecord& record) {
  const std::scoped_lock lock(mutex_);
  ++requests_[{record.route, record.method, record.status}];
  request_seconds_.Add(record.seconds);
}

void Metrics::ObserveGeneration(const engine::GenerationEnd& end) {
  const std::scoped_lock lock(mutex_);
  ++finishes_[end.error ? "error" : std::string(engine::FinishReasonName(end.finish))];
  const engine::GenerationUsage& usage = end.usage;
  if (usage.n_generated == 0) return;
  first_token_seconds_.Add(usage.waiting_seconds + usage.first_token_seconds);
  if (usage.n_generated > 1) {
    token_seconds_.Add(usage.decode_seconds / static_cast<double>(usage.n_generated - 1));
  }
}

void Metrics::ObserveEmbedding(std::size_t n_texts, std::size_t n_tokens, double seconds) {
  const std::scoped_lock lock(mutex_);
  n_texts_ += n_texts;
  n_text_tokens_ += n_tokens;
  embedding_seconds_.Add(seconds);
}

std::string Metrics::Print(std::span<const Model> models) const {
  const std::scoped_lock lock(mutex_);
  std::string out;
  Head("lattice_http_requests_total", "counter", "Requests by route, method and status", out);
  for (const auto& [key, count] : requests_) {
    const auto& [route, method, status] = key;
    Line("lattice_http_requests_total",
         "route=\"" + Escaped(route) + "\",method=\"" + Escaped(method) + "\",status=\"" +
             std::to_string(status) + "\"",
         std::to_string(count), out);
  }
  request_seconds_.Print("lattice_http_request_seconds", "From headers to the answer's end", out);
  for (const EngineFigure& figure : kEngineFigures) {
    if (models.empty()) break;
    Head(figure.name, figure.kind, figure.help, out);
    for (const Model& model : models) {
      Line(figure.name, "model=\"" + Escaped(model.id) + "\"", Number(figure.value(model.engine)),
           out);
    }
  }
  Head("lattice_generations_total", "counter", "Generations by how they ended", out);
  for (const auto& [finish, count] : finishes_) {
    Line("lattice_generations_total", "finish=\"" + finish + "\"", std::to_string(count), out);
  }
  first_token_seconds_.Print("lattice_time_to_first_token_seconds",
                             "From acceptance to the first token", out);
  token_seconds_.Print("lattice_time_per_token_seconds",
                       "Between tokens, the mean of each generation", out);
  Head("lattice_embedded_texts_total", "counter", "Texts embedded", out);
  Line("lattice_embedded_texts_total", "", std::to_string(n_texts_), out);
  Head("lattice_embedded_tokens_total", "counter", "Their tokens", out);
  Line("lattice_embedded_tokens_total", "", std::to_string(n_text_tokens_), out);
  embedding_seconds_.Print("lattice_embedding_seconds", "Requests for embeddings", out);
  return out;
}

}  // namespace lattice::server
