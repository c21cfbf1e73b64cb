#include "apps/command.h"
#include "apps/command_bench.h"
#include "apps/command_chat.h"
#include "apps/command_complete.h"
#include "apps/command_detokenize.h"
#include "apps/command_doctor.h"
#include "apps/command_drift.h"
#include "apps/command_embed.h"
#include "apps/command_fann.h"
#include "apps/command_forward.h"
#include "apps/command_models.h"
#include "apps/command_perplexity.h"
#include "apps/command_pull.h"
#include "apps/command_quantize.h"
#include "apps/command_rerank.h"
#include "apps/command_rm.h"
#include "apps/command_search.h"
#include "apps/command_serve.h"
#include "apps/command_show.h"
#include "apps/command_similarity.h"
#include "apps/command_template.h"
#include "apps/command_tokenize.h"

namespace lattice::apps {
namespace {

constexpr Command kCommands[] = {
    {"chat", "Talk with a model", DeclareChat},
    {"complete", "Go on with a text as it stands", DeclareComplete},
    {"serve", "Answer clients of OpenAI's API over HTTP", DeclareServe},
    {"pull", "Fetch a model into the cache", DeclarePull},
    {"embed", "Turn texts into vectors", DeclareEmbed},
    {"similarity", "How alike two texts are", DeclareSimilarity},
    {"rerank", "Order texts by how well they answer a query", DeclareRerank},
    {"search", "The rows of a file of vectors that are nearest to texts", DeclareSearch},
    {"drift", "How far two sets of texts or vectors are apart", DeclareDrift},
    {"fann", "Train and run small networks on tables of numbers", DeclareFann},
    {"tokenize", "Texts to token ids", DeclareTokenize},
    {"detokenize", "Token ids to text", DeclareDetokenize},
    {"template", "The prompt that a chat template makes of messages", DeclareTemplate},
    {"bench", "How fast a model runs on this machine", DeclareBench},
    {"doctor", "What this machine and a model on it can do", DeclareDoctor},
    {"quantize", "Write a model with weights of fewer bits", DeclareQuantize},
    {"perplexity", "How well a model guesses a text", DeclarePerplexity},
    {"forward", "Run a model once on given ids, to compare with references", DeclareForward},
    {"models", "List the models on this machine, or those with a short name", DeclareModels},
    {"show", "What a model is and where it lies", DeclareShow},
    {"rm", "Remove a model from the cache", DeclareRm},
};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

}  // namespace lattice::apps
