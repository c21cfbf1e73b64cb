#include "server/openai/answer_shape.h"

namespace lattice::server {

std::string Dialect::FailurePiece(const ApiError& error) const {
  return DataEvent(ErrorBody(error));  // and no [DONE]: the answer is not complete
}

std::string DataEvent(const std::string& json) { return "data: " + json + "\n\n"; }

std::string NamedEvent(const std::string& name, const std::string& json) {
  return "event: " + name + "\ndata: " + json + "\n\n";
}

}  // namespace lattice::server
