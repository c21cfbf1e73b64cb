#include "apps/embedding_flags.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "apps/named_values.h"
#include "apps/number_flags.h"
#include "apps/progress_bar.h"

namespace lattice::apps {
namespace {

constexpr Named<ComputePrecision> kPrecisions[] = {{"f32", ComputePrecision::kF32},
                                                   {"bf16", ComputePrecision::kBf16},
                                                   {"int8", ComputePrecision::kInt8}};
constexpr Named<Role> kRoles[] = {
    {"query", Role::kQuery}, {"passage", Role::kPassage}, {"none", Role::kNone}};
constexpr Named<Pooling> kPoolings[] = {{"cls", Pooling::kCls},
                                        {"mean", Pooling::kMean},
                                        {"last", Pooling::kLast},
                                        {"max", Pooling::kMax},
                                        {"mean_sqrt_len", Pooling::kMeanSqrtLength},
                                        {"weighted_mean", Pooling::kWeightedMean}};

}  // namespace

void DeclareEmbeddingFlags(CLI::App& arguments, EmbeddingFlags& flags) {
  arguments
      .add_option("-m,--model", flags.model, "Folder, known name or OWNER/NAME (all-minilm-l6-v2)")
      ->type_name("MODEL");
  arguments
      .add_option("--precision", flags.precision, "Arithmetic: f32 (exact), bf16 or int8 (faster)")
      ->check(CLI::IsMember(NamesOf(kPrecisions)))
      ->capture_default_str();
  AddThreads(arguments, flags.threads);
}

Result<std::unique_ptr<EmbeddingService>> OpenService(const EmbeddingFlags& flags,
                                                      const AppContext& context) {
  EmbeddingServiceOptions options;
  options.model_cache = context.environment.model_cache;
  options.offline = context.environment.offline;
  options.hub_endpoint = context.environment.hub_endpoint;
  options.hub_token = context.environment.hub_token;
  options.stop = context.stop;
  options.n_threads = flags.threads;
  options.instruction_set = context.instruction_set;
  LATTICE_TRY(options.precision, ParsePrecision(flags.precision));
  if (LogSink log = context.Log()) {
    options.log = [log](std::string_view message) { log(LogLevel::kInfo, message); };
  }
  if (!context.quiet) options.progress = MakeProgressSink(ProgressUnit::kBytes);
  return MakeEmbeddingService(std::move(options));
}

Result<ComputePrecision> ParsePrecision(std::string_view name) {
  return FindNamed(kPrecisions, "precision", name);
}
Result<Role> ParseRole(std::string_view name) { return FindNamed(kRoles, "role", name); }
Result<Pooling> ParsePooling(std::string_view name) {
  return FindNamed(kPoolings, "pooling", name);
}

std::vector<std::string> RoleNames() { return NamesOf(kRoles); }
std::vector<std::string> PoolingNames() { return NamesOf(kPoolings); }

std::string_view PoolingName(Pooling pooling) {
  const auto* found = std::find_if(std::begin(kPoolings), std::end(kPoolings),
                                   [&](const auto& row) { return row.value == pooling; });
  return found == std::end(kPoolings) ? "unknown" : found->name;
}

std::size_t CountTruncated(std::span<const TextUsage> usage) {
  return static_cast<std::size_t>(std::ranges::count_if(usage, &TextUsage::truncated));
}

std::optional<std::string> TruncationRemark(std::size_t n_truncated, std::size_t n_texts) {
  if (n_truncated == 0) return std::nullopt;
  return std::to_string(n_truncated) + " of " + std::to_string(n_texts) +
         " texts were longer than the model reads and were cut";
}

}  // namespace lattice::apps
