#include "apps/command_serve.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/number_flags.h"
#include "apps/serve_models.h"
#include "base/files.h"
#include "hub/model_names.h"
#include "server/http/http_server.h"
#include "server/openai/service.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kMaxKeyFileBytes = std::size_t{1} << 20;

struct Arguments {
  ServeFlags models;
  server::HttpOptions http;
  std::string api_key_file;
};

Status ReadKeys(const Arguments& arguments, const AppContext& context, server::ApiKeys& keys) {
  if (!arguments.api_key_file.empty()) {
    LATTICE_TRY(const std::string text, ReadFile(arguments.api_key_file, kMaxKeyFileBytes));
    LATTICE_TRY_VOID(keys.Add(text, arguments.api_key_file));
  }
  std::string listed = context.environment.api_keys;
  if (listed.empty()) return Ok();
  std::ranges::replace(listed, ',', '\n');
  return keys.Add(listed, "LATTICE_API_KEYS");
}

/// One line for each request, without anything that the client wrote.
void LogAccess(const server::RequestRecord& record) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char time[32];
  time[std::strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%SZ", &utc)] = '\0';
  std::fprintf(stderr,
               "access time=%s id=%s method=%s route=%s status=%d ms=%.1f request_bytes=%zu "
               "response_bytes=%zu\n",
               time, record.id.c_str(), record.method, record.route, record.status,
               record.seconds * 1000, record.body_bytes, record.sent_bytes);
}

void Warn(const server::HttpServer& http, bool has_keys, const AppContext& context) {
  const LogSink log = context.Log();
  if (!log || http.is_local() || has_keys) return;
  log(LogLevel::kWarning,
      "anybody who reaches this machine may use the server: give it --api-key-file, and --tls-cert "
      "so that nobody reads the keys on their way");
}

Status Serve(Arguments arguments, const AppContext& context) {
  const ServeFlags& flags = arguments.models;
  if (flags.models.empty() && flags.embedding_models.empty() && flags.rerank_models.empty()) {
    arguments.models.models.emplace_back(hub::kDefaultChatModel);
  }
  LATTICE_TRY_VOID(ReadKeys(arguments, context, arguments.http.guard.keys));
  const bool has_keys = !arguments.http.guard.keys.empty();
  server::Metrics metrics;
  LATTICE_TRY(const OpenedModels opened, OpenModels(flags, context));
  server::Service service(*opened.models, metrics, context.stop);
  arguments.http.is_open = server::Service::IsOpen;
  arguments.http.failure = server::Service::Failure;
  const bool logs = !context.quiet;
  const std::string scheme = arguments.http.tls_certificate.empty() ? "http://" : "https://";
  LATTICE_TRY(const auto http, server::HttpServer::Listen(
                                   std::move(arguments.http),
                                   [&](std::shared_ptr<server::Exchange> exchange) {
                                     service.Handle(std::move(exchange));
                                   },
                                   [&metrics, logs](const server::RequestRecord& record) {
                                     metrics.ObserveRequest(record);
                                     if (logs) LogAccess(record);
                                   }));
  Warn(*http, has_keys, context);
  LATTICE_TRY_VOID(
      Print("listening on " + scheme + http->address() + " with" + NamesOf(*opened.models) + "\n"));
  const Status ended = http->Run(context.stop);
  opened.models->Stop();  // while what answers is still there
  return ended;
}

}  // namespace

Action DeclareServe(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  ServeFlags& models = parsed->models;
  server::HttpOptions& http = parsed->http;
  arguments
      .add_option("-m,--model", models.models,
                  "A generator: folder, .gguf file, known name or OWNER/NAME; several times for "
                  "several (smollm2-135m-instruct)")
      ->type_name("MODEL")
      ->allow_extra_args(false);
  arguments
      .add_option("--embedding-model", models.embedding_models,
                  "An embedding model; several times for several")
      ->type_name("MODEL")
      ->allow_extra_args(false);
  arguments
      .add_option("--rerank-model", models.rerank_models,
                  "A cross-encoder or reranking decoder; several times for several")
      ->type_name("MODEL")
      ->allow_extra_args(false);
  arguments.add_flag("--lazy", models.lazy,
                     "Load each model when it is first asked for, not at the start");
  AddCount(arguments, "--keep-alive", models.keep_alive_s,
           "Seconds after which a model that nobody uses is unloaded; 0: never", {0, 100'000'000})
      ->capture_default_str();
  CLI::Option* const prompt_cache =
      arguments
          .add_option("--prompt-cache", models.prompt_cache,
                      "Folder that keeps what was read of prompts for the next run")
          ->type_name("FOLDER");
  AddCount(arguments, "--prompt-cache-mib", models.prompt_cache_mib,
           "Most that it keeps for each model, the last used first", {1, 1u << 24})
      ->capture_default_str()
      ->needs(prompt_cache);
  arguments
      .add_option("--host", http.host,
                  "Address to listen on; others than loopback let the "
                  "network in")
      ->capture_default_str();
  AddCount(arguments, "--port", http.port, "0: a free one", {0, 65535})->capture_default_str();
  arguments
      .add_option("--api-key-file", parsed->api_key_file,
                  "Keys that clients must send, one a line (LATTICE_API_KEYS)")
      ->type_name("FILE");
  CLI::Option* const certificate =
      arguments
          .add_option("--tls-cert", http.tls_certificate,
                      "Speak HTTPS: a PEM file with the certificate and the chain above it")
          ->type_name("FILE");
  certificate->needs(
      arguments.add_option("--tls-key", http.tls_key, "Its key, a PEM file without a password")
          ->type_name("FILE")
          ->needs(certificate));
  arguments
      .add_option("--allow-host", http.guard.allowed_hosts,
                  "A further name that requests may give this machine, as a proxy passes it on")
      ->type_name("NAME")
      ->allow_extra_args(false);
  arguments
      .add_option("--allow-origin", http.guard.allowed_origins,
                  "Web pages of this origin may ask: https://example.org")
      ->type_name("ORIGIN")
      ->allow_extra_args(false);
  AddCount(arguments, "--parallel", models.parallel, "Answers made at once; further requests wait",
           {1, 256})
      ->capture_default_str();
  AddCount(arguments, "--time-limit", models.time_limit_s,
           "Seconds that an answer may take, with its waiting, before it is cut; 0: any time",
           {0, 100'000'000})
      ->capture_default_str();
  DeclareLoadingFlags(arguments, models.loading);
  arguments.footer(
      "\nEnds on Ctrl-C or SIGTERM once running answers are complete, at most 30 s later.\n"
      "\nExamples:\n  lattice serve\n"
      "  lattice serve --model smollm2-135m-instruct --embedding-model all-minilm-l6-v2\n"
      "  curl http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: application/json' \\\n"
      "    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello!\"}]}'");
  return [parsed, &context] { return Serve(*parsed, context); };
}

}  // namespace lattice::apps
