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

std::string Label(std::string_view name, std::string_view value) {
  return std::string(name) + "=\"" + Escaped(value) + "\"";
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
    {"lattice_forced_tokens_total", "counter", "Of them, certain without a pass for each",
     Value<&Engine::forced_tokens>},
    {"lattice_steps_total", "counter", "Forward passes", Value<&Engine::n_steps>}};

double Running(const Engine& engine) {
  return static_cast<double>(engine.n_reading + engine.n_answering);
}

double UsedShare(const Engine& engine) {
  if (engine.memory_bytes == 0) return 0;
  return static_cast<double>(engine.used_bytes) / static_cast<double>(engine.memory_bytes);
}

constexpr EngineFigure kVllmFigures[] = {
    {"vllm:num_requests_running", "gauge", "At work", Running},
    {"vllm:num_requests_waiting", "gauge", "Waiting", Value<&Engine::n_waiting>},
    {"vllm:kv_cache_usage_perc", "gauge", "Memory in use, 1 is all", UsedShare},
    {"vllm:prompt_tokens_total", "counter", "Tokens of prompts", Value<&Engine::prompt_tokens>},
    {"vllm:generation_tokens_total", "counter", "Tokens of answers",
     Value<&Engine::generated_tokens>},
    {"vllm:prefix_cache_queries_total", "counter", "Tokens of prompts looked up",
     Value<&Engine::prompt_tokens>},
    {"vllm:prefix_cache_hits_total", "counter", "Of them, read before",
     Value<&Engine::cached_tokens>},
    {"vllm:num_preemptions_total", "counter", "Times a generation gave up its memory",
     Value<&Engine::n_put_off>}};

constexpr EngineFigure kLlamaFigures[] = {
    {"llamacpp:prompt_tokens_total", "counter", "Tokens of prompts that were computed",
     [](const Engine& e) { return static_cast<double>(e.prompt_tokens - e.cached_tokens); }},
    {"llamacpp:tokens_predicted_total", "counter", "Tokens of answers",
     Value<&Engine::generated_tokens>},
    {"llamacpp:n_decode_total", "counter", "Forward passes", Value<&Engine::n_steps>},
    {"llamacpp:requests_processing", "gauge", "At work", Running},
    {"llamacpp:requests_deferred", "gauge", "Waiting", Value<&Engine::n_waiting>}};

void PrintFigures(std::span<const EngineFigure> figures, std::string_view label,
                  std::span<const Metrics::Model> models, std::string& out) {
  const auto has_engine = [](const Metrics::Model& model) { return model.engine.has_value(); };
  if (std::ranges::none_of(models, has_engine)) return;
  for (const EngineFigure& figure : figures) {
    Head(figure.name, figure.kind, figure.help, out);
    for (const Metrics::Model& model : models) {
      if (!model.engine) continue;
      Line(figure.name, Label(label, model.id), Number(figure.value(*model.engine)), out);
    }
  }
}

void Counter(const std::string& name, std::string_view help, std::uint64_t value,
             std::string& out) {
  Head(name, "counter", help, out);
  Line(name, "", std::to_string(value), out);
}

void PrintTexts(const std::string& prefix, std::uint64_t n_texts, std::uint64_t n_tokens,
                std::string& out) {
  Counter(prefix + "_texts_total", "Texts", n_texts, out);
  Counter(prefix + "_tokens_total", "Their tokens", n_tokens, out);
}

/// vLLM's word for it; empty: it has none.
std::string_view VllmFinish(std::string_view finish) {
  if (finish == "stop" || finish == "length") return finish;
  if (finish == "context") return "length";
  if (finish == "cancelled" || finish == "deadline") return "abort";
  return "";
}

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
  waiting_seconds_.Add(usage.waiting_seconds);
  if (usage.n_generated == 0) return;
  answer_seconds_.Add(usage.waiting_seconds + usage.first_token_seconds + usage.decode_seconds);
  first_token_seconds_.Add(usage.waiting_seconds + usage.first_token_seconds);
  if (usage.n_generated > 1) {
    token_seconds_.Add(usage.decode_seconds / static_cast<double>(usage.n_generated - 1));
  }
}

void Metrics::TextFigures::Add(std::size_t texts, std::size_t tokens, double seconds_taken) {
  n_texts += texts;
  n_tokens += tokens;
  ++n_requests;
  seconds.Add(seconds_taken);
}

void Metrics::ObserveEmbedding(std::size_t n_texts, std::size_t n_tokens, double seconds) {
  const std::scoped_lock lock(mutex_);
  embedded_.Add(n_texts, n_tokens, seconds);
}

void Metrics::ObserveRerank(std::size_t n_texts, std::size_t n_tokens, double seconds) {
  const std::scoped_lock lock(mutex_);
  reranked_.Add(n_texts, n_tokens, seconds);
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
  Head("lattice_model_loaded", "gauge", "1 while the model is in memory", out);
  for (const Model& model : models) {
    Line("lattice_model_loaded", Label("model", model.id), model.loaded ? "1" : "0", out);
  }
  Head("lattice_model_loads_total", "counter", "Times the model was loaded", out);
  for (const Model& model : models) {
    Line("lattice_model_loads_total", Label("model", model.id), std::to_string(model.n_loads), out);
  }
  PrintFigures(kEngineFigures, "model", models, out);
  Head("lattice_generations_total", "counter", "Generations by how they ended", out);
  for (const auto& [finish, count] : finishes_) {
    Line("lattice_generations_total", "finish=\"" + finish + "\"", std::to_string(count), out);
  }
  first_token_seconds_.Print("lattice_time_to_first_token_seconds",
                             "From acceptance to the first token", out);
  token_seconds_.Print("lattice_time_per_token_seconds",
                       "Between tokens, the mean of each generation", out);
  PrintTexts("lattice_embedded", embedded_.n_texts, embedded_.n_tokens, out);
  embedded_.seconds.Print("lattice_embedding_seconds", "Requests for embeddings", out);
  PrintTexts("lattice_reranked", reranked_.n_texts, reranked_.n_tokens, out);
  reranked_.seconds.Print("lattice_reranking_seconds", "Requests for rankings", out);
  PrintAliases(models, out);
  return out;
}

void Metrics::PrintAliases(std::span<const Model> models, std::string& out) const {
  PrintFigures(kVllmFigures, "model_name", models, out);
  std::map<std::string_view, std::uint64_t> finishes;
  for (const auto& [finish, count] : finishes_) {
    if (const auto word = VllmFinish(finish); !word.empty()) finishes[word] += count;
  }
  Head("vllm:request_success_total", "counter", "Generations by how they ended", out);
  for (const auto& [word, count] : finishes) {
    Line("vllm:request_success_total", Label("finished_reason", word), std::to_string(count), out);
  }
  first_token_seconds_.Print("vllm:time_to_first_token_seconds", "To the first token", out);
  token_seconds_.Print("vllm:request_time_per_output_token_seconds",
                       "Between tokens, the mean of each generation", out);
  waiting_seconds_.Print("vllm:request_queue_time_seconds", "Until a place was free", out);
  answer_seconds_.Print("vllm:e2e_request_latency_seconds", "To the last token", out);
  PrintFigures(kLlamaFigures, "model", models, out);
  Counter("te_embed_success", "Texts embedded", embedded_.n_texts, out);
  Counter("te_request_success", "Requests for embeddings and rankings that were answered",
          embedded_.n_requests + reranked_.n_requests, out);
}

}  // namespace lattice::server
